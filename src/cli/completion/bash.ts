import { casePatterns, quoted } from './cases.js';
import type { CompletionContext } from './words.js';

/**
 * Makes the script for bash, also for version 3.2 of macOS: `mapfile` is not used, and a missing `compopt` is ignored. It walks
 * through the words that are typed already: the names of commands become the path `at`, and the values of options are skipped.
 */
export function bashScript(contexts: readonly CompletionContext[]): string {
  const { commandPaths, valueOptions, valueCases } = casePatterns(contexts);
  const valueLines = valueCases.map(([patterns, values]) =>
    values === 'file'
      ? `    ${patterns})\n      local IFS=$'\\n'\n      COMPREPLY=($(compgen -f -- "$cur"))\n      compopt -o filenames 2>/dev/null\n      return ;;`
      : `    ${patterns}) COMPREPLY=($(compgen -W ${quoted(values === 'text' ? '' : values.join(' '))} -- "$cur")); return ;;`,
  );
  const wordLines = contexts.map(({ path, commands, options, values }) => {
    const names = [...commands, ...options].map(({ text }) => text);
    const isFile = values === 'file';
    const all = [...names, ...(typeof values === 'string' ? [] : values)].join(' ');
    return `    ${quoted(path)}) words=${quoted(all)}${isFile ? '; files=1' : ''} ;;`;
  });
  return `# Completion for bash. Load it in ~/.bashrc: source <(mooring completion bash)
_mooring() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" at='' words='' files='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
      ${commandPaths.join(' | ')}) at="$at \${COMP_WORDS[i]}" ;;
      ${valueOptions.join(' | ')}) ((i += 1)) ;;
    esac
  done
  case "$at \${COMP_WORDS[COMP_CWORD - 1]}" in
${valueLines.join('\n')}
  esac
  case "$at" in
${wordLines.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  if [[ -n $files && $cur != -* ]]; then
    local IFS=$'\\n'
    COMPREPLY+=($(compgen -f -- "$cur"))
    compopt -o filenames 2>/dev/null
  fi
}
complete -F _mooring mooring
`;
}
