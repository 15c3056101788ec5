import { createHash } from 'node:crypto';
import { compactVerify, createLocalJWKSet, type JWK } from 'jose';
import { demand, type Check } from './check.ts';
import { APP_VERSION, HOSTNAME_HINT, type Deployment } from './deployment.ts';
import { isEd25519, keysAnswer, keySet } from './keys.ts';
import { successfulActivation } from './first-activation.ts';
import { at, demandJson, formatValue } from './shape.ts';
import { WEEK_SECONDS } from './timers.ts';
import { jwsTokens, type Token } from './tokens.ts';

/** The members of a JWK that contain a private key or a secret. */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

/** The thumbprint of an Ed25519 key (RFC 7638, section 3.2; RFC 8037 names the members). */
function thumbprint({ crv, kty, x }: Record<string, unknown>): string {
  return createHash('sha256').update(JSON.stringify({ crv, kty, x })).digest('base64url');
}

/** Returns the tokens so far that are JWS, and demands that the keys verify each. */
async function signedTokens(service: Deployment): Promise<Token[]> {
  const tokens = await jwsTokens(service);
  const keys = createLocalJWKSet({ keys: [...(await keySet(service)).tokens] as JWK[] });
  for (const { text } of tokens) {
    await compactVerify(text, keys, { algorithms: ['Ed25519'] }).catch((error: unknown) => {
      throw new Error(
        `A token does not verify: ${error instanceof Error ? error.message : 'for an unknown reason'}.`,
      );
    });
  }
  return tokens;
}

/** The text of a token and of its decoded segments, in lower case. */
const decodedText = (token: unknown) =>
  String(token)
    .split('.')
    .map((part) => `${part} ${Buffer.from(part, 'base64url').toString('utf8')}`)
    .join(' ')
    .toLowerCase();

export const keysChecks: readonly Check[] = [
  {
    title: 'The answer is a JWK Set',
    run: async (service) => {
      const answer = await keysAnswer(service);
      demandJson(answer, 200);
      const keys = at(answer.json, 'keys');
      demand(Array.isArray(keys) && keys.length > 0, `keys is ${formatValue(keys)}.`);
    },
  },
  {
    title: 'The keys may be cached',
    run: async (service) => {
      await keySet(service);
      const value = (await keysAnswer(service)).headers['cache-control'];
      demand(/^public, ?max-age=\d+/.test(value ?? ''), `cache-control is ${formatValue(value)}.`);
    },
  },
  {
    title: 'Every key is an Ed25519 key, of tokens or of manifests',
    run: async (service) => {
      for (const key of (await keySet(service)).all) {
        demand(isEd25519(key), `The key ${formatValue(key['kid'])} is no OKP key on Ed25519.`);
        const use = key['for'];
        demand(
          use === 'license-token' || use === 'update-manifest',
          `A key is for ${formatValue(use)}, neither license-token nor update-manifest.`,
        );
      }
    },
  },
  {
    title: 'No key has a private member',
    run: async (service) => {
      for (const key of (await keySet(service)).all) {
        const name = PRIVATE_MEMBERS.find((each) => Object.hasOwn(key, each));
        demand(!name, `The key ${formatValue(key['kid'])} has the member ${name}.`);
      }
    },
  },
  {
    title: 'The kid of each key is its RFC 7638 thumbprint',
    run: async (service) => {
      for (const key of (await keySet(service)).all) {
        const expected = thumbprint(key);
        demand(key['kid'] === expected, `A kid is ${formatValue(key['kid'])}, not ${expected}.`);
      }
    },
  },
  {
    title: 'A token that is a JWS verifies with these keys, and its exp is offline_until',
    run: async (service) => {
      for (const { claims, answer } of await signedTokens(service)) {
        const [exp, until] = [at(claims, 'exp'), Date.parse(String(at(answer, 'offline_until'))) / 1000];
        demand(exp === until, `exp is ${formatValue(exp)}, offline_until ${formatValue(until)}.`);
      }
    },
  },
  {
    title:
      'A token that is a JWS names the machine of its request in mch, and its iat is 7 days before its exp',
    run: async (service) => {
      for (const { claims, mch } of await jwsTokens(service)) {
        const named = at(claims, 'mch');
        demand(named === mch, `mch is ${formatValue(named)}, not ${formatValue(mch)}.`);
        const [iat, exp] = [Number(at(claims, 'iat')), Number(at(claims, 'exp'))];
        demand(exp - iat === WEEK_SECONDS, `iat is ${formatValue(iat)}, and exp is ${formatValue(exp)}.`);
      }
    },
  },
  {
    title: 'A token contains neither the e-mail address, nor the label, nor the version',
    run: async (service) => {
      await successfulActivation(service);
      const { email } = service.license;
      const values = { 'e-mail address': email, label: HOSTNAME_HINT, version: APP_VERSION };
      const tokens = service.answers.map(({ json }) => decodedText(at(json, 'token')));
      for (const [what, text] of Object.entries(values))
        demand(!tokens.some((token) => token.includes(text.toLowerCase())), `A token holds the ${what}.`);
    },
  },
];
