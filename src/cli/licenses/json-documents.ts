import { CommandError } from '../terminal/output.js';

/** The largest size of one document. A longer one, such as an object with the list of all licenses, would fill the memory. */
const MAX_DOCUMENT_CHARACTERS = 64 * 1024 * 1024;

/** A JSON value of a file, and the line in which it begins. */
export interface JsonDocument {
  readonly line: number;
  readonly value: unknown;
}

/**
 * Reads the JSON values of a file one after the other: concatenated pages of an API, JSON Lines, or the items of one list. They are
 * parsed one at a time, so the memory does not grow with the file.
 * @throws CommandError if the text is not JSON, if it contains other values than objects, if a value is too large or incomplete, or
 * if the beginning or the end of a list is missing
 */
export async function* jsonDocuments(
  chunks: AsyncIterable<string>,
  path: string,
): AsyncGenerator<JsonDocument> {
  const splitter = new Splitter();
  for await (const chunk of chunks) {
    for (const { line, text } of splitter.add(chunk)) yield { line, value: parsed(text, path, line) };
    if (splitter.hasOtherText) throw new CommandError(`${path}: this is not JSON, or not a list of objects.`);
    if (splitter.strayEndLine !== undefined)
      throw new CommandError(
        `${path}, line ${splitter.strayEndLine}: this ] ends a list that does not begin in the file; check that the file is complete.`,
      );
    if (splitter.waitingCharacters > MAX_DOCUMENT_CHARACTERS)
      throw new CommandError(
        `${path}, line ${splitter.line}: this value is too large; save each page of the list, and concatenate the pages.`,
      );
  }
  if (splitter.isInObject)
    throw new CommandError(
      `${path}, line ${splitter.line}: the file ends before this JSON value is complete.`,
    );
  if (splitter.isInList) throw new CommandError(`${path}: the file ends before the list is complete.`);
}

/** `JSON.parse` with the third parameter of its reviver, which the types of TypeScript lack. */
const parse: (
  text: string,
  reviver: (name: string, value: unknown, context: { readonly source?: string }) => unknown,
) => unknown = (text, reviver) => JSON.parse(text, reviver as Parameters<typeof JSON.parse>[1]);

function parsed(text: string, path: string, line: number): unknown {
  try {
    // A whole number that would be rounded, such as the id of an order, is kept as its text.
    return parse(text, (_name, value, { source }) =>
      Number.isInteger(value) && !Number.isSafeInteger(value) ? source : value,
    );
  } catch {
    throw new CommandError(`${path}, line ${line}: this is not JSON.`);
  }
}

/** Splits a text into its objects. A list around them, and the commas between them, are ignored. */
class Splitter {
  /** The line in which the present object begins. */
  line = 1;
  /** Whether there is text outside the objects and the list. */
  hasOtherText = false;
  /** The line of the first `]` that ends no list; undefined without one. */
  strayEndLine: number | undefined;
  #text = '';
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #currentLine = 1;
  /** The number of lists around the objects. */
  #openLists = 0;

  get waitingCharacters(): number {
    return this.#text.length;
  }

  /** Whether an object has no end so far. */
  get isInObject(): boolean {
    return this.#depth > 0;
  }

  /** Whether a list around the objects has no end so far. */
  get isInList(): boolean {
    return this.#openLists > 0;
  }

  *add(chunk: string): Generator<{ line: number; text: string }> {
    let start = this.#depth > 0 ? 0 : -1;
    for (let i = 0; i < chunk.length; i += 1) {
      const character = chunk[i]!;
      if (character === '\n') this.#currentLine += 1;
      if (this.#isInString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (character === '\\') this.#isEscaped = true;
        else if (character === '"') this.#isInString = false;
      } else if (this.#depth === 0 && /[^\s,[\]{\uFEFF]/.test(character)) {
        this.hasOtherText = true;
      } else if (this.#depth === 0 && /[[\]]/.test(character)) {
        this.#countList(character);
      } else if (character === '"') {
        this.#isInString = true;
      } else if (character === '{') {
        if (this.#depth === 0) {
          start = i;
          this.line = this.#currentLine;
        }
        this.#depth += 1;
      } else if (character === '}') {
        this.#depth -= 1;
        if (this.#depth === 0) {
          yield { line: this.line, text: this.#text + chunk.slice(start, i + 1) };
          this.#text = '';
          start = -1;
        }
      }
    }
    if (start >= 0) this.#text += chunk.slice(start);
  }

  /** Counts the beginning or the end of a list around the objects. */
  #countList(bracket: string): void {
    this.#openLists += bracket === '[' ? 1 : -1;
    if (this.#openLists < 0) this.strayEndLine ??= this.#currentLine;
  }
}
