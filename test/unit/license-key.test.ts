import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { deriveLicenseKey } from '../../src/keys/license-key.js';
import { hasValidCheckSymbol, readLicenseKey, withServicePrefix } from '../../src/keys/license-key-text.js';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Any license key that the product can derive. */
const derivedKey = fc
  .record({
    secret: fc.uint8Array({ minLength: 32, maxLength: 32 }),
    id: fc.uuid(),
    generation: fc.integer({ min: 0, max: 0xffffffff }),
  })
  .map(({ secret, id, generation }) => deriveLicenseKey(Buffer.from(secret), 'MOOR', id, generation));

/** Reads a typed key as a service with the prefix MOOR does. */
function readInService(text: string): string | null {
  const key = readLicenseKey(text);
  return key && withServicePrefix(key, 'MOOR');
}

function replaceAt(text: string, index: number, symbol: string): string {
  return text.slice(0, index) + symbol + text.slice(index + 1);
}

/** The indexes of the sixteen symbols in `MOOR_XXXX-XXXX-XXXX-XXXX`. */
const POSITIONS = [...'MOOR_XXXX-XXXX-XXXX-XXXX'].flatMap((symbol, i) => (symbol === 'X' ? [i] : []));

describe('a license key', () => {
  test('is canonical as derived, and its check symbol is valid', () => {
    fc.assert(
      fc.property(derivedKey, (key) => {
        expect(key).toMatch(/^MOOR_([0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}$/);
        expect(readLicenseKey(key)).toBe(key);
        expect(hasValidCheckSymbol(key)).toBe(true);
      }),
    );
  });

  test('does not depend on how the license id is written', () => {
    const id = '0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6';
    const secret = Buffer.alloc(32, 7);
    expect(deriveLicenseKey(secret, 'MOOR', id.toUpperCase(), 1)).toBe(
      deriveLicenseKey(secret, 'MOOR', id, 1),
    );
  });

  test('is not derived from an id that is no UUID', () => {
    expect(() => deriveLicenseKey(Buffer.alloc(32), 'MOOR', '42', 1)).toThrow('A license id is a UUID.');
  });

  test('is read without regard to case, width, similar characters, separators and the prefix', () => {
    const lookAlikes: Record<string, string[]> = { 0: ['0', 'O', 'o'], 1: ['1', 'I', 'i', 'L', 'l'] };
    const separators = ['', '-', ' ', '–', '—', ' - ', '\u00a0', '.', '\u200b', '−', 'ー', '\n> '];
    const fullWidth = (symbol: string) => String.fromCodePoint(symbol.codePointAt(0)! + 0xfee0);
    const typedKey = derivedKey.chain((key) =>
      fc.infiniteStream(fc.nat()).map((stream) => {
        const pick = (choices: readonly string[]) => choices[stream.next().value % choices.length]!;
        const symbols = [...key.slice(5).replaceAll('-', '')].map((symbol) => {
          const typedSymbol = pick(lookAlikes[symbol] ?? [symbol, symbol.toLowerCase()]);
          return pick([typedSymbol, fullWidth(typedSymbol)]) + pick(separators);
        });
        const prefix = pick([
          'MOOR_',
          'moor_',
          'Moor-',
          'MOOR ',
          'MOOR',
          'ＭＯＯＲ＿',
          'M00R_',
          'm0or-',
          'MO0R',
          '',
        ]);
        return {
          key,
          typed: `${pick([' \t', '“', "'", '> '])}${prefix}${symbols.join('')}${pick(['\n', '”.', "'"])}`,
        };
      }),
    );
    fc.assert(fc.property(typedKey, ({ key, typed }) => expect(readInService(typed)).toBe(key)));
  });

  describe('between any words', () => {
    // A word with an underscore could itself have the form of a key.
    const words = fc
      .array(fc.stringMatching(/^[A-Za-z0-9äß,.()'“”>@-]{1,12}$/), { maxLength: 12 })
      .map((all) => all.join(' '));

    test('is read', () => {
      fc.assert(
        fc.property(words, derivedKey, words, (before, key, after) => {
          expect(readInService(`${before} ${key} ${after}`)).toBe(key);
          expect(readInService(`${before}: ${key.toLowerCase()}.\n${after}`)).toBe(key);
        }),
      );
    });

    test('is never read as another valid key if a symbol is wrong or two are swapped', () => {
      const mistyped = fc
        .tuple(
          derivedKey,
          fc.constantFrom(...POSITIONS),
          fc.constantFrom(...POSITIONS),
          fc.constantFrom(...ALPHABET),
        )
        .chain(([key, i, j, symbol]) =>
          fc.constantFrom(
            replaceAt(key, i, symbol),
            replaceAt(replaceAt(key, i, key.charAt(j)), j, key.charAt(i)),
          ),
        )
        .filter((text) => !hasValidCheckSymbol(text));
      fc.assert(
        fc.property(words, mistyped, words, (before, text, after) => {
          const key = readInService(`${before} ${text} ${after}`);
          expect(key).toBe(text);
          expect(hasValidCheckSymbol(key!)).toBe(false);
        }),
      );
    });

    test('is refused beside another one', () => {
      fc.assert(
        fc.property(words, derivedKey, derivedKey, (between, key, other) => {
          fc.pre(key !== other);
          expect(readInService(`${key} ${between} ${other}`)).toBeNull();
        }),
      );
    });
  });

  test('in canonical form is read as the same text again, whatever was typed', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z0-9]{2,12}_([0-9A-Za-z]{4}-){3}[0-9A-Za-z]{4}$/), (text) => {
        const canonical = readLicenseKey(text);
        expect(canonical).not.toBeNull();
        expect(readLicenseKey(canonical ?? '')).toBe(canonical);
      }),
    );
  });

  test('is refused with a letter or digit outside ASCII, except full-width ones and the dashes ー and ｰ', () => {
    const foreignSymbol = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }).filter((text) => {
      return /[\p{L}\p{N}]/u.test(text) && !/[!-~０-９Ａ-Ｚａ-ｚーｰ]/.test(text);
    });
    fc.assert(
      fc.property(derivedKey, fc.constantFrom(...POSITIONS), foreignSymbol, (key, position, symbol) => {
        expect(readLicenseKey(replaceAt(key, position, symbol))).toBeNull();
      }),
    );
  });

  test('never makes the parser throw, whatever was typed', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const canonical = readLicenseKey(text);
        expect(canonical === null || typeof hasValidCheckSymbol(canonical) === 'boolean').toBe(true);
        expect(typeof hasValidCheckSymbol(text)).toBe('boolean');
      }),
    );
  });
});

describe('the check symbol', () => {
  test('is valid only with exactly 16 symbols of the alphabet', () => {
    const zeros = (count: number) => `MOOR_${'0'.repeat(count)}`;
    expect([14, 15, 16, 17, 18].map((count) => hasValidCheckSymbol(zeros(count)))).toEqual([
      false,
      false,
      true,
      false,
      false,
    ]);
    // ALPHABET.indexOf gives -1 for an unknown symbol, which must not count as a value.
    for (const unknown of ['U', 'I', 'L', 'O', 'a', '!'])
      expect(hasValidCheckSymbol(`MOOR_${unknown.repeat(16)}`)).toBe(false);
  });

  test('detects every single wrong symbol, at every position', () => {
    fc.assert(
      fc.property(derivedKey, (key) => {
        const wrong = POSITIONS.flatMap((i) => [...ALPHABET].map((symbol) => replaceAt(key, i, symbol)));
        expect(wrong.filter((text) => text !== key && hasValidCheckSymbol(text))).toEqual([]);
        expect(wrong.filter((text) => text !== key)).toHaveLength(16 * 31);
      }),
      { numRuns: 30 },
    );
  });

  test('detects every swap of two symbols, however far apart', () => {
    fc.assert(
      fc.property(derivedKey, (key) => {
        const swapped = POSITIONS.flatMap((i) =>
          POSITIONS.map((j) => replaceAt(replaceAt(key, i, key.charAt(j)), j, key.charAt(i))),
        );
        expect(swapped.filter((text) => text !== key && hasValidCheckSymbol(text))).toEqual([]);
      }),
    );
  });
});
