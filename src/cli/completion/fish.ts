import { casePatterns } from './cases.js';
import type { CompletionContext, Values } from './words.js';

/** Makes the script for fish: a function that compares the typed command with a path, and a line for each word. */
export function fishScript(contexts: readonly CompletionContext[]): string {
  const { commandPaths, valueOptions } = casePatterns(contexts);
  const lines = contexts.flatMap(({ path, commands, options, values }) => {
    const line = (rest: string) =>
      `complete -c mooring -n ${quotedForFish(`__mooring_at ${quotedForFish(path)}`)} ${rest}`;
    return [
      ...commands.map(({ text, description }) =>
        line(`-a ${quotedForFish(text)} -d ${quotedForFish(description)}`),
      ),
      ...options.map((option) =>
        line(
          `-l ${option.text.slice(2)} ${valuesText(option.values)}-d ${quotedForFish(option.description)}`,
        ),
      ),
      ...(values === 'file' ? [line('-F')] : []),
      ...(Array.isArray(values) ? [line(`-a ${quotedForFish(values.join(' '))}`)] : []),
    ];
  });
  return `# Completion for fish: mooring completion fish > ~/.config/fish/completions/mooring.fish
function __mooring_at
  set -l at ''
  set -l skipped 0
  for word in (commandline -opc)[2..-1]
    if test $skipped = 1
      set skipped 0
      continue
    end
    switch "$at $word"
      case ${commandPaths.join(' ')}
        set at "$at $word"
      case ${valueOptions.join(' ')}
        set skipped 1
    end
  end
  test "$at" = "$argv[1]"
end
complete -c mooring -f
${lines.join('\n')}
`;
}

/** In single quotes, fish takes a backslash as an escape only before a single quote or another backslash. */
const quotedForFish = (text: string) => `'${text.replaceAll(/[\\']/g, '\\$&')}'`;

/** `-r`: the option has a value. `-F`: the value is a file. `-f`: it is not. */
function valuesText(values: Values | null): string {
  if (values === null) return '';
  if (values === 'file') return '-r -F ';
  return values === 'text' ? '-r -f ' : `-r -f -a ${quotedForFish(values.join(' '))} `;
}
