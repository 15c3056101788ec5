import { casePatterns, quoted } from './cases.js';
import type { CompletionContext, Word } from './words.js';

/**
 * Makes the script for zsh, which works from a folder of `fpath` and with `source`. The variable with the path of the command is
 * named `at`, because zsh binds `path` to PATH.
 */
export function zshScript(contexts: readonly CompletionContext[]): string {
  const { commandPaths, valueOptions, valueCases } = casePatterns(contexts);
  const valueLines = valueCases.map(([patterns, values]) => {
    const action =
      values === 'file'
        ? '_files'
        : values === 'text'
          ? '_message value'
          : `compadd -- ${values.map(quoted).join(' ')}`;
    return `    (${patterns}) ${action}; return ;;`;
  });
  const wordLines = contexts.map(
    ({ path, commands, options, values }) => `    (${quoted(path)})
      commands=(${commands.map(described).join(' ')})
      options=(${options.map(described).join(' ')})
      values=(${typeof values === 'string' ? '' : values.map(quoted).join(' ')})
      files=${values === 'file' ? 1 : 0} ;;`,
  );
  return `#compdef mooring
# Completion for zsh. Load it in ~/.zshrc after compinit: source <(mooring completion zsh)
_mooring() {
  local at='' i files=0
  local -a commands options values
  for ((i = 2; i < CURRENT; i++)); do
    case "$at \${words[i]}" in
      (${commandPaths.join(' | ')}) at="$at \${words[i]}" ;;
      (${valueOptions.join(' | ')}) ((i += 1)) ;;
    esac
  done
  case "$at \${words[CURRENT - 1]}" in
${valueLines.join('\n')}
  esac
  case "$at" in
${wordLines.join('\n')}
  esac
  if [[ \${words[CURRENT]} == -* ]]; then
    _describe option options
    return
  fi
  (( \${#commands} )) && _describe command commands
  (( \${#values} )) && compadd -a values
  (( files )) && _files
}
if [[ "\${funcstack[1]}" == _mooring ]]; then
  _mooring "$@"
else
  compdef _mooring mooring
fi
`;
}

/** A word with its description for `_describe`, in which a colon ends the word. */
const described = ({ text, description }: Word) => quoted(`${text.replaceAll(':', '\\:')}:${description}`);
