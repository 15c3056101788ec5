/**
 * The deepest nesting of objects and lists in a response, a token or a manifest. The service uses at most five levels. Parsers of
 * other languages fail at different depths, so all clients have this limit (docs/clients.md#numbers-names-and-depth).
 */
const MAX_LEVELS = 32;

export type Members = Record<string, unknown>;

/** Parses a JSON object that is nested at most 32 levels deep; undefined for any other text. Never throws. */
export function parseObject(text: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isShallow(value, MAX_LEVELS) ? asObject(value) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns an object that is not a list; undefined for any other value. */
export function asObject(value: unknown): Members | undefined {
  return isObject(value) ? value : undefined;
}

/** Whether a value is an object that is not a list. */
export function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether objects and lists are nested at most this many levels deep. */
export function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isShallow(inner, levels - 1));
}
