import { readdirSync } from 'node:fs';

/** Folders that commands create and that are not part of the repository (.gitignore). */
const GENERATED = new Set(['node_modules', 'dist', 'data', '.git', '.sandbox', 'reports', 'secrets']);

/** The wanted files in the working copy, by path from its root, except in the generated folders. */
export function filesOfWorkingCopy(isWanted: (path: string) => boolean, folder = ''): string[] {
  return readdirSync(folder || '.', { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}${entry.name}`;
    if (entry.isDirectory()) return GENERATED.has(entry.name) ? [] : filesOfWorkingCopy(isWanted, `${path}/`);
    return isWanted(path) ? [path] : [];
  });
}
