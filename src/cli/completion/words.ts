import type { Argument, Command, Option } from 'commander';

/** What can be typed as a value: one of these texts, a file, or a text that only the user knows. */
export type Values = readonly string[] | 'file' | 'text';

/** A word that can be typed, with a description. */
export interface Word {
  readonly text: string;
  readonly description: string;
}

/** An option of a command. */
interface OptionWord extends Word {
  /** Null for an option without a value. */
  readonly values: Values | null;
}

/** A point of the command line: a command that is typed already, and what can be typed after it. */
export interface CompletionContext {
  /** The names of the command, each after a space: `' manifest sign'`; empty for the program. */
  readonly path: string;
  readonly commands: readonly Word[];
  readonly options: readonly OptionWord[];
  /** The values of its first argument; `text` without one. */
  readonly values: Values;
}

/** The path of `help`, after which a command with its group can be typed: `help manifest sign`. */
const HELP = ' help';

/** Lists what can be typed after the program, after each of its commands, and after `help` with the names of a command. */
export function completionContexts(program: Command): CompletionContext[] {
  const contexts = commandContexts(program, '');
  const { commands } = contexts[0]!;
  const others = contexts.filter(({ path }) => path !== '' && path !== HELP);
  return [
    ...contexts.map((context) => (context.path === HELP ? { ...context, commands } : context)),
    ...others.map((context) => ({
      ...context,
      path: HELP + context.path,
      options: [],
      values: 'text' as const,
    })),
  ];
}

function commandContexts(command: Command, path: string): CompletionContext[] {
  const visible = command.createHelp().visibleCommands(command);
  const [argument] = command.registeredArguments;
  const context = {
    path,
    commands: visible.map((child) => ({ text: child.name(), description: child.description() })),
    options: command.createHelp().visibleOptions(command).map(toWord),
    values: argument ? valuesOf(argument, argument.name()) : ('text' as const),
  };
  return [context, ...command.commands.flatMap((child) => commandContexts(child, `${path} ${child.name()}`))];
}

function toWord(option: Option): OptionWord {
  const hasValue = option.required || option.optional;
  return {
    text: option.long!,
    description: option.description,
    // The name of the value is the part in brackets.
    values: hasValue ? valuesOf(option, option.flags.replace(/^[^<[]*/, '')) : null,
  };
}

/** @param name the name of the value: the word `file` or `dir` in it means that a file can be typed */
function valuesOf({ argChoices }: Pick<Option | Argument, 'argChoices'>, name: string): Values {
  return argChoices ?? (/\b(file|dir)\b/.test(name) ? 'file' : 'text');
}
