import { expect, test } from '@jest/globals';
import { FORGERIES } from '../../conformance/forged-tokens.ts';

// A dot is in the middle of this token: a forgery that changed the middle character would break the format instead of the claims.
const TOKEN = `${'h'.repeat(160)}.${'c'.repeat(73)}.${'s'.repeat(86)}`;

test('the middle of the token is a dot', () => expect(TOKEN[Math.floor(TOKEN.length / 2)]).toBe('.'));

test.each(FORGERIES.filter(({ what }) => what.includes('one character')))(
  '$what differs in one character of the claims or the signature, which is not the last of its segment',
  ({ make }) => {
    const forged = make(TOKEN);
    const differing = [...TOKEN].flatMap((character, i) => (character === forged[i] ? [] : [i]));
    expect(forged).toHaveLength(TOKEN.length);
    expect(differing).toHaveLength(1);
    expect(TOKEN[differing[0]!]).not.toBe('.');
    expect(TOKEN[differing[0]! + 1]).toMatch(/[cs]/);
  },
);
