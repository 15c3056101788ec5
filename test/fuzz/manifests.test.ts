import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { trustedKey } from '../../client/src/manifest-signature.js';
import { checkManifest, type Running } from '../../client/src/update.js';
import { readManifestFile } from '../../src/cli/manifest/live-manifest.js';
import { CommandError } from '../../src/cli/terminal/output.js';
import { rfc3339 } from '../../src/core/clock.js';
import { Config } from '../../src/core/config.js';
import { publicJwk } from '../../src/keys/ed25519/ed25519.js';
import { developmentManifestKeyFile } from '../../src/keys/key-material.js';
import {
  manifestBytes,
  ManifestError,
  parseSigned,
  signManifest,
  trustedKeys,
  verifyManifest,
  type ManifestContent,
  type SignedManifest,
} from '../../src/keys/manifests/signed-manifest.js';
import { manifestDigest, PublishError } from '../../src/manifest/manifest.rules.js';
import { ManifestService } from '../../src/manifest/manifest.service.js';
import { runs } from './fuzz.js';
import { Service } from '../support/harness.js';
import { publish } from '../manifest/publish.js';
import { temporaryFolder } from '../support/folders.js';

/*
 * Changed manifests are read by the server that publishes, by `manifest verify` and by the client. None of them accepts
 * content that no trusted key signed.
 */

const directory = temporaryFolder();
const service = await Service.start();
const key = createPrivateKey(await readFile(developmentManifestKeyFile(service.app.get(Config))));
await publish(service, '1.0.0');
const live = await publish(service, '2.0.0', '2027-01-01T00:00:00Z');
const liveContent = parseSigned(live.signed);
/** The content of a manifest that may follow the live one, with the same version. */
const refresh: ManifestContent = {
  ...liveContent,
  sequence: liveContent.sequence + 1,
  previous: manifestDigest(live.signed),
};
/** A signed manifest that may follow the live one, and the live one. */
const documents: [SignedManifest, SignedManifest] = [signManifest(manifestBytes(refresh), [key]), live];

const running = (): Running => ({
  product: 'com.example.app',
  app_version: '1.0.0',
  license_expires_at: null,
  now: service.clock.now().getTime(),
});
const trusted = () => trustedKeys([createPublicKey(key)]);
const checkServed = (text: string, sequences = {}) =>
  checkManifest(text, [trustedKey(publicJwk(key).x)], sequences, running());

/** Reads a document. @returns the message of the refusal, or undefined if the document is accepted */
async function refusal(read: () => unknown): Promise<string | undefined> {
  try {
    await read();
    return undefined;
  } catch (error) {
    const isKnown = [ManifestError, PublishError, CommandError].some((kind) => error instanceof kind);
    if (!isKnown) throw error;
    return (error as Error).message;
  }
}

const untrusted = generateKeyPairSync('ed25519').privateKey;
const VALUES: unknown[] = [null, true, 0, -1, 1.5, 1e21, '', '3', 'x', [], {}, ['x'], { a: 1 }];
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

/** Returns a changed document, as JSON. The bits of the random number `pick` choose what is changed. */
type Change = (document: SignedManifest, pick: number, other: SignedManifest) => string;
const json = JSON.stringify;
const at = <T>(all: readonly T[], pick: number): T => all[pick % all.length]!;

function flipped(text: string, pick: number): string {
  const place = pick % text.length;
  return (
    text.slice(0, place) +
    String.fromCharCode(text.charCodeAt(place) ^ (1 << (pick % 7))) +
    text.slice(place + 1)
  );
}

const CHANGES: Record<string, Change> = {
  'a bit of what is signed': (document, pick) =>
    json({ ...document, signed: flipped(document.signed, pick) }),
  'a bit of the signature': (document, pick) => {
    const [first] = document.signatures;
    return json({ ...document, signatures: [{ ...first!, signature: flipped(first!.signature, pick) }] });
  },
  'a member of what is signed': (document, pick) => {
    const content = JSON.parse(document.signed) as object;
    const name = at(Object.keys(content), pick);
    return json({ ...document, signed: json({ ...content, [name]: at(VALUES, pick >> 4) }) });
  },
  'a member twice in what is signed': (document, pick) => {
    const name = at(['version', 'sequence', 'expires_at', 'product'], pick);
    const member = `"${name}":${json(at(VALUES, pick >> 2))}`;
    const { signed } = document;
    const twice = pick & 1 ? `{${member},${signed.slice(1)}` : `${signed.slice(0, -1)},${member}}`;
    return json({ ...document, signed: twice });
  },
  'an outer member': (document, pick) =>
    json({ ...document, [at(Object.keys(document), pick)]: at(VALUES, pick >> 3) }),
  'the signatures of another document': (document, _pick, other) =>
    json({ ...document, signatures: other.signatures }),
  'one or two unknown signatures in place of the genuine one': ({ signed, ...rest }, pick) => {
    const [own, unknown] = [rest.signatures[0]!, signManifest(signed, [untrusted]).signatures[0]!];
    const disguised = { ...unknown, key_id: own.key_id };
    return json({ ...rest, signed, signatures: at([[unknown], [disguised], [disguised, unknown]], pick) });
  },
  'other bytes in front': (document, pick) =>
    `${at(['\uFEFF', '\0', ")]}',\n", '{}'], pick)}${json(document)}`,
  'a piece left out': (document, pick) => {
    const text = json(document);
    return text.slice(0, pick % text.length) + text.slice((pick % text.length) + 1 + (pick % 50));
  },
  'deeply nested members': (document, pick) =>
    json(document).replace('"signatures":[', `"${at(['x', 'signatures'], pick)}":${nested(20_000)},"y":[`),
};

const mutant = fc.record({
  kind: fc.constantFrom(...Object.keys(CHANGES)),
  pick: fc.nat(0xfffff),
  index: fc.nat(1),
});

test('content that no trusted key signed is refused with a message, and not offered by a client', async () => {
  const file = join(directory, 'manifest.json');
  await fc.assert(
    fc.asyncProperty(mutant, async ({ kind, pick, index }) => {
      const text = CHANGES[kind]!(documents[index]!, pick, documents[1 - index]!);
      const genuine = documents.map(({ signed }) => signed);
      // Any other error than a refusal fails the test here.
      await refusal(async () => {
        await writeFile(file, text);
        const document = await readManifestFile(file);
        const content = verifyManifest(document, trusted());
        // If only an outer member was changed, the signed content is still genuine.
        expect(genuine).toContain(manifestBytes(content));
        return service.app.get(ManifestService).checkPublishable(document);
      });
      const { check, sequences } = checkServed(text);
      const parsed = parseOrUndefined(text);
      if (check.available) expect(genuine).toContain(parsed?.signed);
      else expect(sequences).toEqual(genuine.includes(String(parsed?.signed)) ? expect.anything() : {});
    }),
    runs(150),
  );
});

function parseOrUndefined(text: string): SignedManifest | undefined {
  try {
    return JSON.parse(text) as SignedManifest;
  } catch {
    return undefined;
  }
}

test('documents of ten megabytes are refused with a message', async () => {
  const [document] = documents;
  const padding = 'x'.repeat(10_000_000);
  for (const other of [
    { ...document, signed: padding },
    { ...document, signatures: Array.from({ length: 100_000 }, () => document.signatures[0]) },
  ]) {
    expect(await refusal(() => verifyManifest(other, trusted()))).toEqual(expect.any(String));
    expect(
      await refusal(() => service.app.get(ManifestService).publish(other, { actor: 'test', reason: null })),
    ).toEqual(expect.any(String));
  }
  expect(checkServed(json({ ...document, signed: padding })).check).toEqual({
    available: false,
    reason: 'untrusted',
  });
});

const step = fc.record({
  sequence: fc.integer({ min: 1, max: 6 }),
  version: fc.nat(2),
  days: fc.integer({ min: -2, max: 9 }),
});

test('in any order of manifests a client refuses lower sequences, different content of one sequence, and expired ones', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (history) => {
      const { now } = running();
      let sequences = {};
      let seen: { sequence: number; signed: string } | undefined;
      for (const { sequence, version, days } of history) {
        const expires_at = rfc3339(new Date(now + days * 86_400_000));
        const issued_at = rfc3339(new Date(now - 9 * 86_400_000));
        const changed = { sequence, issued_at, expires_at, version: `${version}.5.0`, also_available: [] };
        const signed = manifestBytes({ ...refresh, ...changed });
        const checked = checkServed(json(signManifest(signed, [key])), sequences);
        sequences = checked.sequences;
        const { available, reason } = { reason: 'none', ...checked.check };
        if (seen && sequence < seen.sequence) expect(reason).toBe('sequence_too_low');
        else if (seen && sequence === seen.sequence && signed !== seen.signed)
          expect(reason).toBe('equivocation');
        else {
          seen = { sequence, signed };
          expect([available, reason]).toEqual(
            days <= 0 ? [false, 'expired'] : version < 1 ? [false, 'up_to_date'] : [true, 'none'],
          );
        }
      }
    }),
    runs(40),
  );
});

test('a manifest is published only with a higher sequence, the right predecessor, a valid period and the right product', async () => {
  const manifests = service.app.get(ManifestService);
  const mistake = fc.record({
    sequence: fc.integer({ min: -2, max: 2 }),
    previous: fc.boolean(),
    days: fc.integer({ min: -1, max: 9 }),
    product: fc.nat(4),
  });
  await fc.assert(
    fc.asyncProperty(mistake, async ({ sequence, previous, days, product }) => {
      const { content, signed } = manifests.live!;
      const now = service.clock.now().getTime();
      const other = {
        ...content,
        issued_at: rfc3339(new Date(now - 9 * 86_400_000)),
        expires_at: rfc3339(new Date(now + days * 86_400_000)),
        sequence: content.sequence + sequence,
        previous: previous ? manifestDigest(signed) : content.previous,
        ...(product === 0 && { product: 'com.example.other' }),
      };
      if (other.sequence < 1) return;
      const document = signManifest(manifestBytes(other), [key]);
      const refused = await refusal(() => manifests.publish(document, { actor: 'test', reason: null }));
      // A repeated publication of the live manifest succeeds and changes nothing.
      if (refused !== undefined || document.signed === signed)
        return expect(manifests.live!.signed).toBe(signed);
      expect([sequence > 0, previous, days > 0, product > 0]).toEqual([true, true, true, true]);
      expect(manifests.live!.signed).toBe(document.signed);
    }),
    runs(40),
  );
});
