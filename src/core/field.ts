import { isStorableText } from './text.js';

/** Why an input value is refused: the end of a sentence about the member, option or column, such as "must be a number". */
export class Invalid {
  constructor(readonly sentence: string) {}
}

/** A kind of input value, with its canonical form and limits. The API, the command line and imports use the same fields. */
export interface Field<T> {
  /** @param input undefined if the value is absent @returns the canonical value */
  parse(this: void, input: unknown): T | Invalid;
}

export const NOT_STORABLE = new Invalid('must not hold a NUL or half a surrogate pair');

/**
 * Creates the field of a text that PostgreSQL can store.
 * @param sentence what the value must be, as in `Invalid`
 * @param parse returns the canonical value; null if the text is not such a value, or `Invalid` with a sentence of its own
 */
export function textField<T>(
  sentence: string,
  parse: (text: string) => T | Invalid | null,
): Field<Exclude<T, Invalid>> {
  const invalid = new Invalid(sentence);
  return {
    parse: (input) => {
      if (typeof input !== 'string') return invalid;
      return isStorableText(input) ? ((parse(input) ?? invalid) as Exclude<T, Invalid>) : NOT_STORABLE;
    },
  };
}

/** Creates the field of a text that must equal one of the allowed texts. */
export function oneOf<const T extends string>(allowed: readonly T[]): Field<T> {
  return textField(
    `must be one of ${allowed.join(', ')}`,
    (text) => allowed.find((value) => value === text) ?? null,
  );
}

/** Creates the field of a whole number. `parseText` reads it from the text of an option, a query parameter or a cell of a file. */
export function wholeNumber(min: number, max: number): Field<number> & { parseText: Field<number>['parse'] } {
  const invalid = new Invalid(`must be a whole number from ${min} to ${max}`);
  const parse = (input: unknown) =>
    typeof input === 'number' && Number.isInteger(input) && input >= min && input <= max ? input : invalid;
  return {
    parse,
    parseText: (text) => (typeof text === 'string' && /^\d{1,9}$/.test(text) ? parse(Number(text)) : invalid),
  };
}

/** Creates the field of a value that may be absent (undefined). */
export function optional<T>({ parse }: Field<T>): Field<T | undefined> {
  return { parse: (input) => (input === undefined ? undefined : parse(input)) };
}
