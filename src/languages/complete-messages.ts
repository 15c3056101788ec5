import { isObject } from '../core/json-object.js';

/** Messages by name, as in the file of a language; or the forms of one message by plural category (`isForms`). */
interface Tree {
  readonly [name: string]: string | Tree;
}

/** The messages of a file, and what is wrong with the file, such as `portal.signIn.key is missing`. */
interface CompletedMessages<Texts> {
  readonly messages: Texts;
  readonly problems: readonly string[];
}

/** What is wrong with the messages of a file. */
interface Findings {
  readonly problems: string[];
  /** Whether a missing message is no problem. */
  readonly mayLack: boolean;
}

const PLURAL_CATEGORIES = ['zero', 'one', 'two', 'few', 'many', 'other'];
const CONTROL_CHARACTER = /\p{Cc}/u;

/**
 * Completes the messages of a file that an operator wrote: a message that is missing or cannot be used is replaced, so that a
 * translation with errors never stops anything.
 * @param fallback the replacements: the messages that the service comes with in this language, or else the English ones
 * @param mayLack whether a missing message is no problem, because its replacement is in the language of the file
 */
export function completeMessages<Texts>(
  fallback: Texts,
  given: unknown,
  mayLack: boolean,
): CompletedMessages<Texts> {
  const problems: string[] = [];
  const messages = completeTree(fallback as Tree, given, '', { problems, mayLack });
  return { messages: messages as Texts, problems };
}

function completeTree(fallback: Tree, given: unknown, path: string, findings: Findings): Tree {
  const members = isObject(given) ? given : {};
  const unknown = Object.keys(members).filter((name) => !Object.hasOwn(fallback, name));
  findings.problems.push(...unknown.map((name) => `${path}${name} is not the name of a message`));
  const entries = Object.entries(fallback).map(([name, text]) => {
    const message = Object.hasOwn(members, name) ? members[name] : undefined;
    return [name, completeMessage(text, message, path + name, findings)] as const;
  });
  return Object.fromEntries(entries);
}

function completeMessage(fallback: string | Tree, given: unknown, path: string, findings: Findings) {
  const { problems, mayLack } = findings;
  if (typeof fallback !== 'string' && !isForms(fallback)) {
    if (given === undefined || isObject(given)) return completeTree(fallback, given, `${path}.`, findings);
    problems.push(`${path} must be an object`);
    return fallback;
  }
  if (given === undefined && mayLack) return fallback;
  const problem = given === undefined ? 'is missing' : problemOf(fallback, given);
  if (problem === undefined) return given as string | Tree;
  problems.push(`${path} ${problem}`);
  return fallback;
}

/** Returns what is wrong with a message, as the end of a sentence; undefined if it can be used. */
function problemOf(fallback: string | Tree, given: unknown): string | undefined {
  if (typeof fallback !== 'string') {
    if (!isObject(given) || typeof given['other'] !== 'string')
      return 'must be an object with at least the plural form "other"';
    if (!isForms(given)) return `may have these forms only: ${PLURAL_CATEGORIES.join(', ')}`;
  }
  const texts = typeof fallback === 'string' ? [given] : Object.values(given as Tree);
  const expected = placeholdersOf(
    typeof fallback === 'string' ? fallback : Object.values(fallback).join(' '),
  );
  for (const text of texts) {
    if (typeof text !== 'string' || text.trim() === '') return 'must be a text that is not blank';
    if (CONTROL_CHARACTER.test(text)) return 'has a control character';
    if (placeholdersOf(text) !== expected) return `must have these placeholders: ${expected || 'none'}`;
  }
  return undefined;
}

/** The names of the placeholders of a text, each once and sorted. */
const placeholdersOf = (text: string) => [...new Set(text.match(/\{\w+\}/g))].toSorted().join(' ');

/** Whether an object is a message with plural forms, and not a group of messages. */
const isForms = (tree: object) => Object.keys(tree).every((name) => PLURAL_CATEGORIES.includes(name));
