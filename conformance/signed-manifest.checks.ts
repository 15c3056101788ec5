import { createPublicKey, verify, type KeyObject } from 'node:crypto';
import { demand, type Check } from './check.ts';
import type { Deployment } from './deployment.ts';
import { keySet } from './keys.ts';
import { manifestSignatures, publishedManifest, signedContent } from './manifest.ts';
import { successfulActivation } from './first-activation.ts';
import { NotChecked } from './not-checked.ts';
import { at, demandMembers, formatValue } from './shape.ts';

/** The members of the signed content, in the order that the format prescribes. */
const MEMBER_ORDER =
  '_type product sequence issued_at expires_at version dmg minimum_license_expiry also_available previous';

const OFFER_SHAPES = {
  version: 'version',
  'dmg.url': 'httpsUrl',
  'dmg.size': 'count',
  'dmg.sha256': 'sha256',
  minimum_license_expiry: 'timeOrNull',
} as const;

/** The signatures of the manifest that name a key of /v1/keys, each with this key. */
async function signaturesOfKnownKeys(service: Deployment): Promise<{ key: KeyObject; signature: Buffer }[]> {
  const { manifests } = await keySet(service);
  return (await manifestSignatures(service)).flatMap(({ key_id, signature }) => {
    const jwk = manifests.find((each) => each['kid'] === key_id);
    if (!jwk) return [];
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    return [{ key, signature: Buffer.from(signature, 'base64url') }];
  });
}

/** The newest version and the older ones of `also_available`, in their order. Demands that it is a list. */
async function offers(service: Deployment): Promise<unknown[]> {
  const { content } = await signedContent(service);
  const others = content['also_available'];
  demand(Array.isArray(others), `also_available is ${formatValue(others)}, not a list.`);
  return [content, ...(others as unknown[])];
}

/** Whether a version is newer than another. Parts are compared as numbers; missing parts are 0. */
function isAbove(one: string, other: string): boolean {
  const [a, b] = [one, other].map((version) => version.split('.').map(Number));
  const different = [0, 1, 2, 3].find((i) => (a?.[i] ?? 0) !== (b?.[i] ?? 0));
  return different !== undefined && (a?.[different] ?? 0) > (b?.[different] ?? 0);
}

export const signedManifestChecks: readonly Check[] = [
  {
    title: 'Each signature is 64 bytes in base64url without padding, and its key_id is a thumbprint',
    run: async (service) => {
      const { json } = await publishedManifest(service);
      const signatures = at(json, 'signatures');
      demand(Array.isArray(signatures), `signatures is ${formatValue(signatures)}, not a list.`);
      for (const [i, each] of (signatures as unknown[]).entries())
        demandMembers(each, { key_id: 'thumbprint', signature: 'signature' }, `signatures[${i}]`);
    },
  },
  {
    title: 'A signature verifies with a key of /v1/keys, and fails if a byte is changed',
    run: async (service) => {
      const bytes = Buffer.from((await signedContent(service)).text);
      const known = await signaturesOfKnownKeys(service);
      demand(known.length > 0, 'No signature of the manifest is by a manifest key of /v1/keys.');
      const countValid = () =>
        known.filter(({ key, signature }) => verify(null, bytes, key, signature)).length;
      demand(countValid() === known.length, 'A signature does not verify over the bytes of signed.');
      // Every 16th byte is a sufficient sample.
      for (let i = 0; i < bytes.length; i += 16) {
        bytes[i]! ^= 1;
        demand(countValid() === 0, `A signature still verifies after byte ${i} of signed was changed.`);
        bytes[i]! ^= 1;
      }
    },
  },
  {
    title: 'The other members of the manifest are copies of its signed content',
    run: async (service) => {
      const { json } = await publishedManifest(service);
      const { content } = await signedContent(service);
      const copies = {
        version: content['version'],
        dmg_sha256: at(content, 'dmg', 'sha256'),
        minimum_license_expiry: content['minimum_license_expiry'],
        key_id: at(json, 'signatures', 0, 'key_id'),
        signature: at(json, 'signatures', 0, 'signature'),
      };
      for (const [name, original] of Object.entries(copies)) {
        const copy = at(json, name);
        demand(
          copy !== undefined && copy === original,
          `${name} is ${formatValue(copy)}, not ${formatValue(original)}.`,
        );
      }
    },
  },
  {
    title: 'The signed content is ASCII JSON without floats, with its members in the fixed order',
    run: async (service) => {
      const { text, content } = await signedContent(service);
      // oxlint-disable-next-line no-control-regex -- ASCII includes control characters
      demand(/^[\x00-\x7f]*$/.test(text), 'The signed content has characters that are not ASCII.');
      const numbers = text.replaceAll(/"(\\.|[^"\\])*"/g, '').match(/-?\d[\d.eE+-]*/g) ?? [];
      const float = numbers.find((number) => !/^-?\d+$/.test(number));
      demand(!float, `The signed content has the float ${float}.`);
      const order = Object.keys(content).join(' ');
      demand(order === MEMBER_ORDER, `The members of the signed content are ${order}.`);
    },
  },
  {
    title:
      'The signed content has _type, product, sequence, times, version, dmg, minimum_license_expiry and previous',
    run: async (service) => {
      const { content } = await signedContent(service);
      const type = content['_type'];
      demand(type === 'update-manifest/v1', `_type is ${formatValue(type)}, not update-manifest/v1.`);
      const shapes = {
        ...OFFER_SHAPES,
        product: 'text',
        sequence: 'count',
        issued_at: 'time',
        expires_at: 'time',
        previous: 'sha256OrNull',
      } as const;
      demandMembers(content, shapes, 'signed');
    },
  },
  {
    title: 'The manifest has not expired',
    run: async (service) => {
      const expires = Date.parse(String((await signedContent(service)).content['expires_at']));
      const now = await serverTime(service);
      const when = now.toISOString();
      demand(expires > now.getTime(), `expires_at of the manifest has passed: the time is ${when}.`);
    },
  },
  {
    title: 'The entries of also_available are complete',
    run: async (service) => {
      const [, ...others] = await offers(service);
      for (const [i, entry] of others.entries()) demandMembers(entry, OFFER_SHAPES, `also_available[${i}]`);
    },
  },
  {
    title:
      'also_available is sorted newest first, with a lower minimum_license_expiry for each older version',
    run: async (service) => {
      const all = await offers(service);
      for (const [i, entry] of all.slice(1).entries()) {
        const [above, here] = [all[i], entry].map((each) => String(at(each, 'version')));
        demand(isAbove(above!, here!), `${here} comes after ${above}.`);
        // A minimum of null covers all licenses, so none is lower.
        const [higher, lower] = [all[i], entry].map((each) => at(each, 'minimum_license_expiry'));
        const isLower = higher !== null && (lower === null || String(lower) < String(higher));
        demand(
          isLower,
          `${here} has the minimum ${formatValue(lower)}, ${above} has ${formatValue(higher)}.`,
        );
      }
    },
  },
];

/** The time of the service's clock; that of this computer if no answer states it. */
async function serverTime(service: Deployment): Promise<Date> {
  const serverTimeText = await successfulActivation(service).then(
    ({ answer }) => at(answer.json, 'server_time'),
    () => undefined,
  );
  const { date } = (await publishedManifest(service)).headers;
  const time = new Date(typeof serverTimeText === 'string' ? serverTimeText : (date ?? Date.now()));
  if (Number.isNaN(time.getTime())) throw new NotChecked('the answers contain no valid time');
  return time;
}
