import { generateKeyPairSync, hash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { trustedKey } from '../../client/src/manifest-signature.js';
import { judgeManifest, type Judgement } from '../../client/src/update.js';
import { publicJwk } from '../../src/keys/ed25519.js';
import {
  alsoAvailable,
  compareVersions,
  manifestBytes,
  signManifest,
  type ManifestContent,
  type ManifestEntry,
} from '../../src/keys/manifests/signed-manifest.js';
import { nextManifest, refuseUnpublishable, type LiveContent } from '../../src/manifest/manifest.rules.js';
import { PublishedVersions } from '../../src/manifest/published-versions.js';

const PRODUCT = 'com.example.app';
const NOW = new Date('2026-11-20T13:00:00Z');
const EXPIRES = new Date('2027-02-18T13:00:00Z');
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const trusted = [trustedKey(publicJwk(publicKey).x)];

const YEARS = [2024, 2025, 2026, 2027].map((year) => `${year}-01-01T00:00:00Z`);
const BETWEEN = [2023, 2024, 2025, 2026, 2027].map((year) => `${year}-07-01T00:00:00Z`);

/** What a publisher does next; a number is a choice among what there is. */
type Step =
  | { readonly does: 'publish'; readonly minimum: string | null }
  | { readonly does: 'refresh'; readonly lowered: number }
  | { readonly does: 'withdraw' }
  | { readonly does: 'go back'; readonly choice: number }
  | { readonly does: 'publish again'; readonly choice: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ does: fc.constant('publish' as const), minimum: fc.constantFrom(null, ...YEARS) }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('refresh' as const), lowered: fc.nat(4) }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('withdraw' as const) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('go back' as const), choice: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('publish again' as const), choice: fc.nat(9) }) },
);

const minimums = [null, ...YEARS];
const isBelow = (a: ManifestEntry, b: ManifestEntry) => compareVersions(a.version, b.version) < 0;
const entryOf = ({ version, dmg, minimum_license_expiry }: ManifestEntry): ManifestEntry => ({
  version,
  dmg,
  minimum_license_expiry,
});

/** A publisher's machine and the server, with the functions of both. */
class Publishing {
  readonly versions = new PublishedVersions();
  readonly history: ManifestContent[] = [];
  readonly signed: string[] = [];
  #live: LiveContent | null = null;
  #numbers = 0;

  take(step: Step): void {
    const live = this.#live?.content;
    if (!live || step.does === 'publish') return this.#newVersion('minimum' in step ? step.minimum : null);
    if (step.does === 'refresh') {
      const lower = minimums.slice(0, minimums.indexOf(live.minimum_license_expiry) + 1);
      const minimum = lower[Math.max(0, lower.length - 1 - step.lowered)] ?? null;
      return this.#put({ ...entryOf(live), minimum_license_expiry: minimum }, alsoAvailable(minimum, live));
    }
    // By the plain history, not by what the server remembers of it: withdrawn is what a later manifest went below.
    const latest = this.history.filter(
      (each, i) => !this.history.slice(i + 1).some((b) => !isBelow(each, b) && !isBelow(b, each)),
    );
    const gone = (each: ManifestContent) =>
      this.history.slice(this.history.indexOf(each)).some((b) => isBelow(b, each));
    if (step.does === 'publish again') {
      const withdrawn = latest.filter((each) => gone(each) && isBelow(live, each));
      if (withdrawn.length === 0) return this.#newVersion(null);
      const again = withdrawn[step.choice % withdrawn.length]!;
      return this.#put(entryOf(again), alsoAvailable(again.minimum_license_expiry, live));
    }
    const good = latest
      .filter((each) => !gone(each) && isBelow(each, live))
      .toSorted((a, b) => compareVersions(b.version, a.version));
    const before = this.versions.newestBelow(live.version);
    expect(before?.version).toBe(good[0]?.version);
    if (good.length === 0) return;
    const back = step.does === 'withdraw' ? good[0]! : good[step.choice % good.length]!;
    this.#put(entryOf(back), back.also_available, true);
  }

  #newVersion(minimum: string | null): void {
    this.#numbers += 1;
    const version = `${Math.floor(this.#numbers / 10)}.${this.#numbers % 10}`;
    const dmg = { url: `https://dl.example.com/${version}`, size: 1, sha256: hash('sha256', version) };
    const also = this.#live ? alsoAvailable(minimum, this.#live.content) : [];
    this.#put({ version, dmg, minimum_license_expiry: minimum }, also);
  }

  #put(entry: ManifestEntry, also_available: ManifestEntry[], isWithdrawal = false): void {
    const offer = { entry, also_available, expires: EXPIRES };
    const content = nextManifest(this.#live, offer, { product: PRODUCT, now: NOW });
    const standing = { live: this.#live, versions: this.versions, product: PRODUCT, now: NOW, isWithdrawal };
    refuseUnpublishable(content, standing);
    const signed = manifestBytes(content);
    this.versions.add(content);
    this.history.push(content);
    this.signed.push(signed);
    this.#live = { content, signed };
  }
}

/** The newest version not withdrawn, not above the live one, that a license of this expiry may have. */
function owned(history: readonly ManifestContent[], expiry: string | null | undefined): string | undefined {
  const good = history.filter((each, i) => {
    const later = history.slice(i + 1);
    // Its last word counts, and none after it may lie below it.
    return !later.some((b) => compareVersions(b.version, each.version) <= 0);
  });
  const covered = good.filter(({ minimum_license_expiry: minimum }) =>
    minimum === null || expiry === null
      ? true
      : expiry !== undefined && Date.parse(expiry) >= Date.parse(minimum),
  );
  return covered.toSorted((a, b) => compareVersions(b.version, a.version))[0]?.version;
}

test('whatever was published and withdrawn, a license is offered the newest version it owns, and the server agrees', () => {
  const licenses = [null, undefined, ...YEARS, ...BETWEEN];
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), fc.nat(19), (steps, running) => {
      const publishing = new Publishing();
      let seen: Judgement['sequences'] = {};
      for (const each of steps) {
        publishing.take(each);
        const { history, signed, versions } = publishing;
        const text = JSON.stringify(signManifest(signed.at(-1)!, [privateKey]));
        for (const license_expires_at of licenses) {
          const model = owned(history, license_expires_at);
          const judge = (app_version: string) =>
            judgeManifest(text, trusted, seen, {
              product: PRODUCT,
              app_version,
              license_expires_at,
              now: +NOW,
            });
          const { check, sequences } = judge('0.0');
          expect(check.available ? check.offer.version : undefined).toBe(model);
          seen = sequences;
          // From the version it runs, only what is above it, and never a step back.
          const runs = history[running % history.length]!.version;
          const above = model !== undefined && compareVersions(model, runs) > 0 ? model : undefined;
          const { check: offered } = judge(runs);
          expect(offered.available ? offered.offer.version : undefined).toBe(above);
          const isNewest = compareVersions(history.at(-1)!.version, runs) <= 0;
          if (!offered.available) expect(offered.reason).toBe(isNewest ? 'up_to_date' : 'not_covered');
          if (license_expires_at === undefined) continue;
          const date = license_expires_at === null ? null : new Date(license_expires_at);
          expect(versions.newestCovered(date)?.version).toBe(model);
        }
      }
    }),
  );
});
