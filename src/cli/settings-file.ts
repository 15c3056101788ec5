import { CommandError } from './terminal/output.js';

/** A line of .env.example with a setting that is commented out, and its name. */
const SETTING = /^# ([A-Z_]+)=/;
/** The beginning of the comment of a setting that production requires. */
const REQUIRED = '# (production) ';

/** A rendered settings file. */
interface SettingsFile {
  readonly text: string;
  /** The names of the settings that production requires and that have no value yet. */
  readonly namesToFillIn: readonly string[];
}

/**
 * Renders the settings file of a production deployment: every line of .env.example. Settings that `values` has, and settings
 * that production requires, are not commented out any more. A required setting that `values` lacks is empty.
 * @param example the content of .env.example
 * @throws CommandError if a value cannot be written, see `quoted`
 */
export function renderSettingsFile(example: string, values: Readonly<Record<string, string>>): SettingsFile {
  const namesToFillIn: string[] = [];
  const renderLine = (line: string, isRequired: boolean) => {
    const name = SETTING.exec(line)?.[1];
    if (name === undefined) return line;
    const value = values[name];
    if (value !== undefined) return `${name}=${quoted(value)}`;
    if (!isRequired) return line;
    namesToFillIn.push(name);
    return `${name}=`;
  };
  const blocks = example.split('\n\n').map((block) => {
    const isRequired = block.startsWith(REQUIRED);
    return block
      .split('\n')
      .map((line) => renderLine(line, isRequired))
      .join('\n');
  });
  return { text: blocks.join('\n\n'), namesToFillIn };
}

/**
 * Quotes a value so that a shell, Node (`--env-file`), systemd (`EnvironmentFile`) and docker compose read the same value. Their
 * escape characters differ, so no escape is written. Only a folder can need one: the other values are constants and base64.
 * @throws CommandError if the value would need an escape
 */
function quoted(value: string): string {
  if (/^[\w./:@%+,=-]+$/.test(value)) return value;
  if (/^[^'\\\p{Cc}]+$/u.test(value)) return `'${value}'`;
  if (/^[^"$`\\\p{Cc}]+$/u.test(value)) return `"${value}"`;
  throw new CommandError(
    `${JSON.stringify(value)} cannot be written to mooring.env, because it has a backslash, a control character, or ' together with ", $ or \`: choose another folder.`,
  );
}
