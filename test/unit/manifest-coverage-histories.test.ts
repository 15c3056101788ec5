import { generateKeyPairSync, hash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { trustedKey } from '../../client/src/manifest-signature.js';
import { checkManifest, type ManifestCheck } from '../../client/src/update.js';
import { publicJwk } from '../../src/keys/ed25519/ed25519.js';
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

/** The minimums of versions. */
const YEARS = [2024, 2025, 2026, 2027].map((year) => `${year}-01-01T00:00:00Z`);
/** Expiries of licenses before, between and after the minimums. */
const MID_YEARS = [2023, 2024, 2025, 2026, 2027].map((year) => `${year}-07-01T00:00:00Z`);

/**
 * An action of a publisher. `choice` selects one of the versions that are possible then; `lowered` is the number of steps by
 * which the minimum becomes lower. 'withdraw' goes back to the newest of the lower versions that are not withdrawn, 'go back' to
 * any of them.
 */
type Step =
  | { readonly action: 'publish'; readonly minimum: string | null }
  | { readonly action: 'refresh'; readonly lowered: number }
  | { readonly action: 'withdraw' }
  | { readonly action: 'go back'; readonly choice: number }
  | { readonly action: 'publish again'; readonly choice: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      action: fc.constant('publish' as const),
      minimum: fc.constantFrom(null, ...YEARS),
    }),
  },
  { weight: 2, arbitrary: fc.record({ action: fc.constant('refresh' as const), lowered: fc.nat(4) }) },
  { weight: 2, arbitrary: fc.record({ action: fc.constant('withdraw' as const) }) },
  { weight: 1, arbitrary: fc.record({ action: fc.constant('go back' as const), choice: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ action: fc.constant('publish again' as const), choice: fc.nat(9) }) },
);

const minimums = [null, ...YEARS];
const isBelow = (a: ManifestEntry, b: ManifestEntry) => compareVersions(a.version, b.version) < 0;
const entryOf = ({ version, dmg, minimum_license_expiry }: ManifestEntry): ManifestEntry => ({
  version,
  dmg,
  minimum_license_expiry,
});

/** Publishes manifests with the functions of the publisher's commands and of the server. */
class Publishing {
  readonly versions = new PublishedVersions();
  readonly history: ManifestContent[] = [];
  readonly signed: string[] = [];
  #live: LiveContent | null = null;
  #versionCount = 0;

  perform(step: Step): void {
    const live = this.#live?.content;
    if (!live || step.action === 'publish') return this.#newVersion('minimum' in step ? step.minimum : null);
    if (step.action === 'refresh') {
      const lower = minimums.slice(0, minimums.indexOf(live.minimum_license_expiry) + 1);
      const minimum = lower[Math.max(0, lower.length - 1 - step.lowered)] ?? null;
      return this.#publish(
        { ...entryOf(live), minimum_license_expiry: minimum },
        alsoAvailable(minimum, live),
      );
    }
    // Computed from the plain history, without the state of the server: a later manifest with a lower version withdraws
    // a version. `latest` has the last manifest of each version.
    const latest = this.history.filter(
      (each, i) => !this.history.slice(i + 1).some((b) => !isBelow(each, b) && !isBelow(b, each)),
    );
    const isWithdrawn = (each: ManifestContent) =>
      this.history.slice(this.history.indexOf(each)).some((b) => isBelow(b, each));
    if (step.action === 'publish again') {
      const withdrawn = latest.filter((each) => isWithdrawn(each) && isBelow(live, each));
      if (withdrawn.length === 0) return this.#newVersion(null);
      const again = withdrawn[step.choice % withdrawn.length]!;
      return this.#publish(entryOf(again), alsoAvailable(again.minimum_license_expiry, live));
    }
    const targets = latest
      .filter((each) => !isWithdrawn(each) && isBelow(each, live))
      .toSorted((a, b) => compareVersions(b.version, a.version));
    const before = this.versions.newestBelow(live.version);
    expect(before?.version).toBe(targets[0]?.version);
    if (targets.length === 0) return;
    const back = step.action === 'withdraw' ? targets[0]! : targets[step.choice % targets.length]!;
    this.#publish(entryOf(back), back.also_available, { isWithdrawal: true });
  }

  #newVersion(minimum: string | null): void {
    this.#versionCount += 1;
    const version = `${Math.floor(this.#versionCount / 10)}.${this.#versionCount % 10}`;
    const dmg = { url: `https://dl.example.com/${version}`, size: 1, sha256: hash('sha256', version) };
    const also = this.#live ? alsoAvailable(minimum, this.#live.content) : [];
    this.#publish({ version, dmg, minimum_license_expiry: minimum }, also);
  }

  #publish(entry: ManifestEntry, also_available: ManifestEntry[], { isWithdrawal = false } = {}): void {
    const offer = { entry, also_available, expires: EXPIRES };
    const content = nextManifest(this.#live, offer, { product: PRODUCT, now: NOW });
    const context = { live: this.#live, versions: this.versions, product: PRODUCT, now: NOW, isWithdrawal };
    refuseUnpublishable(content, context);
    const signed = manifestBytes(content);
    this.versions.add(content);
    this.history.push(content);
    this.signed.push(signed);
    this.#live = { content, signed };
  }
}

/**
 * The newest version that is not withdrawn and that a license of this expiry covers.
 * @param expiry null if the license never expires; undefined if there is no license
 */
function newestCovered(
  history: readonly ManifestContent[],
  expiry: string | null | undefined,
): string | undefined {
  const published = history.filter((each, i) => {
    const later = history.slice(i + 1);
    // Only the last manifest of a version counts, and no later manifest may have a lower version.
    return !later.some((b) => compareVersions(b.version, each.version) <= 0);
  });
  const covered = published.filter(({ minimum_license_expiry: minimum }) =>
    minimum === null || expiry === null
      ? true
      : expiry !== undefined && Date.parse(expiry) >= Date.parse(minimum),
  );
  return covered.toSorted((a, b) => compareVersions(b.version, a.version))[0]?.version;
}

test('after any publications and withdrawals, a license is offered the newest version it covers, and the server agrees', () => {
  const expiries = [null, undefined, ...YEARS, ...MID_YEARS];
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), fc.nat(19), (steps, runningChoice) => {
      const publishing = new Publishing();
      let seen: ManifestCheck['sequences'] = {};
      for (const each of steps) {
        publishing.perform(each);
        const { history, signed, versions } = publishing;
        const text = JSON.stringify(signManifest(signed.at(-1)!, [privateKey]));
        for (const license_expires_at of expiries) {
          const newest = newestCovered(history, license_expires_at);
          const checkWith = (app_version: string) =>
            checkManifest(text, trusted, seen, {
              product: PRODUCT,
              app_version,
              license_expires_at,
              now: +NOW,
            });
          const { check, sequences } = checkWith('0.0');
          expect(check.available ? check.offer.version : undefined).toBe(newest);
          seen = sequences;
          // A client is offered only a version above the one that it runs.
          const running = history[runningChoice % history.length]!.version;
          const above = newest !== undefined && compareVersions(newest, running) > 0 ? newest : undefined;
          const { check: offered } = checkWith(running);
          expect(offered.available ? offered.offer.version : undefined).toBe(above);
          const isNewest = compareVersions(history.at(-1)!.version, running) <= 0;
          if (!offered.available) expect(offered.reason).toBe(isNewest ? 'up_to_date' : 'not_covered');
          if (license_expires_at === undefined) continue;
          const date = license_expires_at === null ? null : new Date(license_expires_at);
          expect(versions.newestCovered(date)?.version).toBe(newest);
        }
      }
    }),
  );
});
