import { createHash } from 'node:crypto';
import { createLocalJWKSet, jwtVerify, type JWK } from 'jose';
import { demand, NotChecked, type Check } from './check.ts';
import { APP_VERSION, HOSTNAME_HINT, type Deployment } from './deployment.ts';
import { isEd25519, keysAnswer, keySet } from './keys.ts';
import { seat } from './seat.ts';
import { at, demandJson, shown } from './shape.ts';

/** What of a JWK would tell the private key, or a secret. */
const PRIVATE = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

/** RFC 7638, 3.2, with the members that RFC 8037 names. */
function thumbprint({ crv, kty, x }: Record<string, unknown>): string {
  return createHash('sha256').update(JSON.stringify({ crv, kty, x })).digest('base64url');
}

/** Verifies a token with the keys that the service shows, at the time of the service's answer. */
async function verified(service: Deployment) {
  const { answer, token } = await seat(service);
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token))
    throw new NotChecked('the token is opaque by contract, and this one is no JWS');
  const keys = createLocalJWKSet({ keys: [...(await keySet(service)).tokens] as JWK[] });
  const currentDate = new Date(String(at(answer.json, 'server_time')));
  if (Number.isNaN(currentDate.getTime())) throw new NotChecked('the service does not tell its time');
  return jwtVerify(token, keys, { algorithms: ['Ed25519'], currentDate });
}

/** All that can be read in a token, whatever its parts are. */
const readable = (token: unknown) =>
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
      demand(Array.isArray(keys) && keys.length > 0, `keys is ${shown(keys)}.`);
    },
  },
  {
    title: 'The keys may be kept by caches',
    run: async (service) => {
      await keySet(service);
      const value = (await keysAnswer(service)).headers['cache-control'];
      demand(/^public, ?max-age=\d+/.test(value ?? ''), `cache-control is ${shown(value)}.`);
    },
  },
  {
    title: 'Every key is an Ed25519 key, of tokens or of manifests',
    run: async (service) => {
      for (const key of (await keySet(service)).all) {
        demand(isEd25519(key), `The key ${shown(key['kid'])} is no OKP key on Ed25519.`);
        const use = key['for'];
        demand(
          use === 'license-token' || use === 'update-manifest',
          `A key is for ${shown(use)}, neither license-token nor update-manifest.`,
        );
      }
    },
  },
  {
    title: 'Nothing of a private key is shown',
    run: async (service) => {
      for (const key of (await keySet(service)).all) {
        const name = PRIVATE.find((each) => Object.hasOwn(key, each));
        demand(!name, `The key ${shown(key['kid'])} has the member ${name}.`);
      }
    },
  },
  {
    title: 'The kid of each is its RFC 7638 thumbprint',
    run: async (service) => {
      for (const key of (await keySet(service)).all) {
        const wanted = thumbprint(key);
        demand(key['kid'] === wanted, `A kid is ${shown(key['kid'])}, not ${wanted}.`);
      }
    },
  },
  {
    title: 'A token, where it is a JWS, verifies with them; its exp is offline_until',
    run: async (service) => {
      const { payload } = await verified(service).catch((error: unknown) => {
        if (error instanceof NotChecked) throw error;
        throw new Error(
          `The token does not verify: ${error instanceof Error ? error.message : 'why is unknown'}.`,
        );
      });
      const until = Date.parse(String(at((await seat(service)).answer.json, 'offline_until'))) / 1000;
      demand(payload.exp === until, `exp is ${shown(payload.exp)}, offline_until ${shown(until)}.`);
    },
  },
  {
    title: 'Neither e-mail address, label nor version stand in a token',
    run: async (service) => {
      await seat(service);
      const { email } = service.license;
      const facts = { 'e-mail address': email, label: HOSTNAME_HINT, version: APP_VERSION };
      const tokens = service.answers.map(({ json }) => readable(at(json, 'token')));
      for (const [what, text] of Object.entries(facts))
        demand(!tokens.some((token) => token.includes(text.toLowerCase())), `A token holds the ${what}.`);
    },
  },
];
