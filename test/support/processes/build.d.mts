export function ofBuild(path: string): string;
