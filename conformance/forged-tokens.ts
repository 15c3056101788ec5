import { createHmac, generateKeyPairSync, sign } from 'node:crypto';

interface Forgery {
  readonly what: string;
  /** Made of a genuine token; of one that is no JWS, what it is made of is made up. */
  readonly make: (token: string) => string;
}

const segment = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

function parts(token: string): { header: string; claims: string } {
  const [header, claims, signature] = token.split('.');
  if (header && claims && signature) return { header, claims };
  return { header: segment({ alg: 'Ed25519', typ: 'license+jwt' }), claims: segment({ iss: 'conformance' }) };
}

/** Another character at a place whose every bit counts. */
function changed(token: string, at: number): string {
  return token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1);
}

export const FORGERIES: readonly Forgery[] = [
  {
    what: 'A token with one character changed in its middle',
    make: (token) => changed(token, Math.floor(token.length / 2)),
  },
  {
    what: 'A token with one character changed near its end',
    make: (token) => changed(token, token.length - 20),
  },
  {
    what: 'A token without a signature, alg none,',
    make: (token) => `${segment({ alg: 'none', typ: 'license+jwt' })}.${parts(token).claims}.`,
  },
  {
    what: 'A token of alg HS256',
    make: (token) => {
      const input = `${segment({ alg: 'HS256', typ: 'license+jwt' })}.${parts(token).claims}`;
      return `${input}.${createHmac('sha256', 'conformance').update(input).digest('base64url')}`;
    },
  },
  {
    what: 'A token signed with an unknown key',
    make: (token) => {
      const { header, claims } = parts(token);
      const input = `${header}.${claims}`;
      const { privateKey } = generateKeyPairSync('ed25519');
      return `${input}.${sign(null, Buffer.from(input), privateKey).toString('base64url')}`;
    },
  },
];
