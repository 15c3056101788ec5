import { styleText } from 'node:util';
import type { Result } from './check.ts';

const LOOK = {
  holds: { mark: '✓', color: 'green' },
  fails: { mark: '✗', color: 'red' },
  not_checked: { mark: '–', color: 'yellow' },
} as const;

/** Colours appear on a terminal that shows them, and nowhere else. */
const paint = (color: Parameters<typeof styleText>[0], text: string) =>
  styleText(color, text, { stream: process.stdout });

export function counted(results: readonly Result[]): Record<Result['result'], number> {
  const count = { holds: 0, fails: 0, not_checked: 0 };
  for (const { result } of results) count[result] += 1;
  return count;
}

/** The results as a person reads them: a heading for each group, a line for each check, why below it. */
export function table(url: string, results: readonly Result[]): string {
  const width = Math.max(...results.map(({ title }) => title.length)) + 4;
  const lines = [paint('bold', `Conformance of ${url}`)];
  let before: Result | undefined;
  for (const each of results) {
    if (each.group !== before?.group) {
      const padding = ' '.repeat(Math.max(2, width - each.group.length - each.rule.length));
      lines.push('', paint('bold', each.group) + padding + paint('dim', each.rule));
    }
    const { mark, color } = LOOK[each.result];
    lines.push(`  ${paint(color, mark)} ${each.title}`);
    // What many lack is printed once.
    const isShown = each.result === 'not_checked' && each.why === before?.why && each.group === before?.group;
    if (each.why && !isShown) lines.push(`      ${paint(each.result === 'fails' ? color : 'dim', each.why)}`);
    before = each;
  }
  const { holds, fails, not_checked } = counted(results);
  const color = fails > 0 ? 'red' : not_checked > 0 ? 'yellow' : 'green';
  lines.push('', paint(color, `${holds} hold, ${fails} fail, ${not_checked} not checked`));
  return lines.join('\n');
}
