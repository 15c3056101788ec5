import { createHmac, generateKeyPairSync, sign } from 'node:crypto';

/** A way to forge a token. */
interface Forgery {
  /** The subject of a sentence: `A token of alg HS256`. */
  readonly what: string;
  /** Makes the forgery from a genuine token. If the token is not a JWS, invented segments are used. */
  readonly make: (token: string) => string;
}

const encodeSegment = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

function segmentsOf(token: string): { header: string; claims: string } {
  const [header, claims, signature] = token.split('.');
  if (header && claims && signature) return { header, claims };
  return {
    header: encodeSegment({ alg: 'Ed25519', typ: 'license+jwt' }),
    claims: encodeSegment({ iss: 'conformance' }),
  };
}

/** Returns a position in the middle of the claims; if the token is not a JWS, in the middle of its last segment. */
function positionInClaims(token: string): number {
  const start = token.indexOf('.') + 1;
  const end = token.indexOf('.', start);
  return Math.floor((start + (end === -1 ? token.length : end)) / 2);
}

/**
 * Replaces one character. The position must not be that of a dot, because the token would then have two segments, nor that of the
 * last character of a segment, because a decoder may ignore some bits of it.
 */
function replaceCharacter(token: string, position: number): string {
  return token.slice(0, position) + (token[position] === 'A' ? 'B' : 'A') + token.slice(position + 1);
}

export const FORGERIES: readonly Forgery[] = [
  {
    what: 'A token with one character changed in its claims',
    make: (token) => replaceCharacter(token, positionInClaims(token)),
  },
  {
    what: 'A token with one character changed near its end',
    make: (token) => replaceCharacter(token, token.length - 20),
  },
  {
    what: 'A token without a signature, alg none,',
    make: (token) => `${encodeSegment({ alg: 'none', typ: 'license+jwt' })}.${segmentsOf(token).claims}.`,
  },
  {
    what: 'A token of alg HS256',
    make: (token) => {
      const input = `${encodeSegment({ alg: 'HS256', typ: 'license+jwt' })}.${segmentsOf(token).claims}`;
      return `${input}.${createHmac('sha256', 'conformance').update(input).digest('base64url')}`;
    },
  },
  {
    what: 'A token signed with an unknown key',
    make: (token) => {
      const { header, claims } = segmentsOf(token);
      const input = `${header}.${claims}`;
      const { privateKey } = generateKeyPairSync('ed25519');
      return `${input}.${sign(null, Buffer.from(input), privateKey).toString('base64url')}`;
    },
  },
];
