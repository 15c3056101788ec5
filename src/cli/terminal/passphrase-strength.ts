/** The smallest number of characters of a new passphrase, counted as the sentence `WEAK_PASSPHRASE` says. */
const MIN_CHARACTERS = 12;

/** The largest number of bytes: Node reads at most 1024 bytes of a passphrase, and `openssl -passin file:` at most 1023. */
const MAX_BYTES = 1023;

const COMMON_WORDS =
  /passphrase|password|passwort|letmein|welcome|changeme|iloveyou|manifest|mooring|admin|secret/g;
/** A character at least three times in succession, or a longer text at least twice. */
const REPETITIONS = /(.)\1{2,}|(.{2,}?)\2+/gsu;
/** The alphabet, the digits and the rows of keyboards. */
const FORWARD = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890',
  'qwertyuiop',
  'qwertzuiop',
  'azertyuiop',
  'asdfghjkl',
  'zxcvbnm',
  'yxcvbnm',
];
const SEQUENCES = [...FORWARD, ...FORWARD.map((text) => [...text].toReversed().join(''))];
const MIN_SEQUENCE_CHARACTERS = 4;

/** The sentence about a passphrase that is refused. */
export const WEAK_PASSPHRASE = `The passphrase is too weak: it needs at least ${MIN_CHARACTERS} characters. A repeated text counts only once, and a sequence such as 1234 or qwerty or a common word such as password counts as one character.`;

/** The sentence about a passphrase with which some program could not open the key. */
export const LONG_PASSPHRASE = `The passphrase is too long: it may have at most ${MAX_BYTES} bytes.`;

export const isLongPassphrase = (passphrase: string): boolean => Buffer.byteLength(passphrase) > MAX_BYTES;

/** Whether a passphrase for a new key is too weak. The rule recognizes only trivial patterns and the few COMMON_WORDS. */
export function isWeakPassphrase(passphrase: string): boolean {
  const remaining = passphrase.toLowerCase().replaceAll(COMMON_WORDS, ' ').replaceAll(REPETITIONS, '$1$2');
  return countWithoutSequences([...remaining]) < MIN_CHARACTERS;
}

/** Counts the characters; a sequence counts as one. */
function countWithoutSequences(characters: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < characters.length; count += 1) i += sequenceLength(characters.slice(i).join('')) || 1;
  return count;
}

/** Returns the length of the sequence at the beginning of a text; 0 if there is none. */
function sequenceLength(text: string): number {
  const isSequence = (length: number) => SEQUENCES.some((known) => known.includes(text.slice(0, length)));
  let length = MIN_SEQUENCE_CHARACTERS;
  if (text.length < length || !isSequence(length)) return 0;
  while (length < text.length && isSequence(length + 1)) length += 1;
  return length;
}
