import type { CompletionContext, Values } from './words.js';

/** The patterns of `case` in the scripts. */
interface CasePatterns {
  /** The paths of all commands. */
  readonly commandPaths: readonly string[];
  /** The options that have a value, each with the path of its command before it: `' manifest sign --key'`. */
  readonly valueOptions: readonly string[];
  /** The same options, joined by `|`, grouped by what their values are. */
  readonly valueCases: readonly [patterns: string, values: Values][];
}

/** Returns a text in single quotes, as bash and zsh read it. Fish reads it in the same way if it has no backslash. */
export const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** Makes the patterns with which a script finds out what can be typed. */
export function casePatterns(contexts: readonly CompletionContext[]): CasePatterns {
  const byValues = new Map<string, { values: Values; patterns: string[] }>();
  for (const { path, options } of contexts) {
    for (const { text, values } of options) {
      if (values === null) continue;
      const group = byValues.get(String(values)) ?? { values, patterns: [] };
      group.patterns.push(quoted(`${path} ${text}`));
      byValues.set(String(values), group);
    }
  }
  const groups = [...byValues.values()];
  const commandPaths = contexts.map(({ path }) => path).filter((path) => path !== '');
  return {
    commandPaths: commandPaths.map(quoted),
    valueOptions: groups.flatMap(({ patterns }) => patterns),
    valueCases: groups.map(({ values, patterns }) => [patterns.join(' | '), values]),
  };
}
