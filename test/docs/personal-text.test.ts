import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import ts from 'typescript';

const page = readFileSync('docs/personal-text.md', 'utf8');
const source = readFileSync('src/telemetry/personal-data.ts', 'utf8');
const tree = ts.createSourceFile('personal-data.ts', source, ts.ScriptTarget.Latest, true);

/** Patterns that split a text, choose which patterns are tried, or trim an address: the page says in words what they do. */
const IN_WORDS = ["/[-_' \\u2019\\u306E]/", '/[^0-9A-Za-z:.]/', '/(?<!:):(?!:)/', '/[:.]+$/'];

/** The regular expressions of the file, as they are written. In those of `new RegExp`, ENDINGS replaces `${HOST_ENDINGS}`. */
function patternsOf(node: ts.Node): string[] {
  const inside = node.getChildren(tree).flatMap(patternsOf);
  if (ts.isRegularExpressionLiteral(node)) return [node.getText(tree), ...inside];
  if (!ts.isNewExpression(node) || node.expression.getText(tree) !== 'RegExp') return inside;
  const [pattern, flags] = node.arguments!.map((argument) => argument.getText(tree).slice(1, -1));
  return [`/${pattern!.replaceAll('\\\\', '\\').replace('${HOST_ENDINGS}', 'ENDINGS')}/${flags}`, ...inside];
}

test('the page of personal text has each pattern of the service, and no other', () => {
  const patterns = patternsOf(tree).filter((pattern) => !IN_WORDS.includes(pattern));
  const blocks = [...page.matchAll(/^```\n([^]*?)^```/gm)].map(([, block]) => block!);
  const listed = blocks.flatMap((block) =>
    [...block.matchAll(/^(\/.*?\/[iu]?)(?: {2,}|$)/gm)].map(([, each]) => each!),
  );
  expect(patterns.length).toBeGreaterThan(20);
  expect(listed.toSorted()).toEqual(patterns.toSorted());
});

test('the page of personal text has the endings of host names', () => {
  const [, ...parts] = /HOST_ENDINGS =\n\s+'(.*)' \+\n\s+'(.*)';/.exec(source)!;
  expect(page).toContain(`\`${parts.join('').replaceAll('\\\\', '\\')}\``);
});
