import type { JsonWebKey } from 'node:crypto';
import { once } from './check.ts';
import { NotChecked } from './not-checked.ts';
import { at, isObject, describeAnswer } from './shape.ts';

export const keysAnswer = once((service) => service.ask('GET', '/v1/keys'));

interface KeySet {
  readonly all: readonly Record<string, unknown>[];
  readonly tokens: readonly JsonWebKey[];
  readonly manifests: readonly JsonWebKey[];
}

/** The public keys that the service publishes. */
export const keySet = once(async (service): Promise<KeySet> => {
  const answer = await keysAnswer(service).catch(() => {
    throw new NotChecked('/v1/keys was not answered');
  });
  const keys = at(answer.json, 'keys');
  if (answer.status !== 200 || !Array.isArray(keys))
    throw new NotChecked(`there are no keys to check: ${describeAnswer(answer)}`);
  const all = keys.filter(isObject);
  const keysFor = (purpose: string) =>
    all
      .filter((each) => each['for'] === purpose && isEd25519(each))
      .map(({ kty, crv, x, kid }) => ({ kty, crv, x, kid }) as JsonWebKey);
  return { all, tokens: keysFor('license-token'), manifests: keysFor('update-manifest') };
});

export function isEd25519({ kty, crv, x }: Record<string, unknown>): boolean {
  return kty === 'OKP' && crv === 'Ed25519' && typeof x === 'string' && /^[\w-]{43}$/.test(x);
}
