/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the members of an object that are not undefined. */
export const definedMembers = <Members extends object>(members: Members): Partial<Members> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Partial<Members>;
