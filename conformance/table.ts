import { styleText } from 'node:util';
import type { Result } from './check.ts';

const STYLES = {
  holds: { mark: '✓', color: 'green' },
  fails: { mark: '✗', color: 'red' },
  not_checked: { mark: '–', color: 'yellow' },
} as const;

/** Colours a text, but only if standard output is a terminal that supports colours. */
const paint = (color: Parameters<typeof styleText>[0], text: string) =>
  styleText(color, text, { stream: process.stdout });

export function countResults(results: readonly Result[]): Record<Result['result'], number> {
  const count = { holds: 0, fails: 0, not_checked: 0 };
  for (const { result } of results) count[result] += 1;
  return count;
}

/** Formats the results: a heading for each group, a line for each check, and the reason below a line. */
export function table(url: string, results: readonly Result[]): string {
  const width = Math.max(...results.map(({ title }) => title.length)) + 4;
  const lines = [paint('bold', `Conformance of ${url}`)];
  let previous: Result | undefined;
  for (const entry of results) {
    if (entry.group !== previous?.group) {
      const padding = ' '.repeat(Math.max(2, width - entry.group.length - entry.rule.length));
      lines.push('', paint('bold', entry.group) + padding + paint('dim', entry.rule));
    }
    const { mark, color } = STYLES[entry.result];
    lines.push(`  ${paint(color, mark)} ${entry.title}`);
    // A reason that several unchecked checks in a row of one group share is printed once.
    const isRepeated =
      entry.result === 'not_checked' && entry.why === previous?.why && entry.group === previous?.group;
    if (entry.why && !isRepeated)
      lines.push(`      ${paint(entry.result === 'fails' ? color : 'dim', entry.why)}`);
    previous = entry;
  }
  const { holds, fails, not_checked } = countResults(results);
  const color = fails > 0 ? 'red' : not_checked > 0 ? 'yellow' : 'green';
  lines.push('', paint(color, `${holds} hold, ${fails} fail, ${not_checked} not checked`));
  return lines.join('\n');
}
