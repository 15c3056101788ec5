/** Dotted numeric, one to four parts, at most 32 characters (docs/contract.md#activate). */
export function isVersion(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 32 && /^\d+(\.\d+){0,3}$/.test(value);
}

/** Whether `version` is newer than `other`. Parts are compared as numbers; missing parts are 0 (docs/contract.md#versions). */
export function isAbove(version: string, other: string): boolean {
  const left = version.split('.');
  const right = other.split('.');
  for (let part = 0; part < 4; part++) {
    const [leftPart, rightPart] = [BigInt(left[part] ?? 0), BigInt(right[part] ?? 0)];
    if (leftPart !== rightPart) return leftPart > rightPart;
  }
  return false;
}
