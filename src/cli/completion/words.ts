import type { Argument, Command, Option } from 'commander';

/** What can be typed as a value: one of these texts, a file, or a text that only the user knows. */
export type Values = readonly string[] | 'file' | 'text';

/** A word that can be typed, with a description. */
export interface Word {
  readonly text: string;
  readonly description: string;
}

/** An option of a command. */
export interface OptionWord extends Word {
  /** Null for an option without a value. */
  readonly values: Values | null;
}

/** What can be typed after a command. */
export interface Place {
  /** The names of the command, each after a space: `' manifest sign'`; empty for the program. */
  readonly path: string;
  readonly commands: readonly Word[];
  readonly options: readonly OptionWord[];
  /** The values of its arguments. */
  readonly values: Values;
}

/** Lists what can be typed after the program and after each of its commands. */
export function placesOf(command: Command, path = ''): Place[] {
  const visible = command.createHelp().visibleCommands(command);
  const [argument] = command.registeredArguments;
  const place = {
    path,
    commands: visible.map((child) => ({ text: child.name(), description: child.description() })),
    options: command.createHelp().visibleOptions(command).map(toWord),
    values: argument ? valuesOf(argument, argument.name()) : ('text' as const),
  };
  return [place, ...command.commands.flatMap((child) => placesOf(child, `${path} ${child.name()}`))];
}

function toWord(option: Option): OptionWord {
  const hasValue = option.required || option.optional;
  return {
    text: option.long!,
    description: option.description,
    // The name of the value is the part in angle brackets.
    values: hasValue ? valuesOf(option, option.flags.replace(/^[^<[]*/, '')) : null,
  };
}

function valuesOf({ argChoices }: Pick<Option | Argument, 'argChoices'>, name: string): Values {
  return argChoices ?? (/\b(file|dir)\b/.test(name) ? 'file' : 'text');
}
