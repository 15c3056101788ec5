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

/** What can be typed after a command. */
export interface Place {
  /** The names of the command, each after a space: `' manifest sign'`; empty for the program. */
  readonly path: string;
  readonly commands: readonly Word[];
  readonly options: readonly OptionWord[];
  /** The values of its arguments. */
  readonly values: Values;
}

/** The path of `help`, after which the names of a command can be typed. */
const HELP = ' help';

/** Lists what can be typed after the program, after each of its commands, and after `help` with the names of a command. */
export function placesOf(program: Command): Place[] {
  const places = commandPlaces(program, '');
  const { commands } = places[0]!;
  const others = places.filter(({ path }) => path !== '' && path !== HELP);
  return [
    ...places.map((place) => (place.path === HELP ? { ...place, commands } : place)),
    ...others.map((place) => ({ ...place, path: HELP + place.path, options: [], values: 'text' as const })),
  ];
}

function commandPlaces(command: Command, path: string): Place[] {
  const visible = command.createHelp().visibleCommands(command);
  const [argument] = command.registeredArguments;
  const place = {
    path,
    commands: visible.map((child) => ({ text: child.name(), description: child.description() })),
    options: command.createHelp().visibleOptions(command).map(toWord),
    values: argument ? valuesOf(argument, argument.name()) : ('text' as const),
  };
  return [place, ...command.commands.flatMap((child) => commandPlaces(child, `${path} ${child.name()}`))];
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
