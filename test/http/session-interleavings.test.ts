import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { LicenseKeys } from '../../src/keys/license-keys.js';
import { SignInCodes } from '../../src/license-portal/sign-in-codes.js';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { ErasureService } from '../../src/erasure/erasure.service.js';
import { runs } from '../fuzz/fuzz.js';
import { activation, AUDIT_CONTEXT, Service } from '../support/harness.js';
import { Browser } from '../license-portal/harness.js';
import { afterThisFile } from '../support/of-this-file.js';
import { StatementGates, type GatedAnswer } from '../support/statement-gates.js';

/** The age of the session: more than the minute after which a request renews it. */
const SESSION_AGE_MS = 2 * 60_000;
const HINT_OF_NEXT_HOLDER = 'laptop of the next holder';
const OPERATIONS = [
  'read',
  'read again',
  'sign in by key',
  'sign in by code',
  'sign in by the same code',
  'sign out',
  'replace the key',
  'change the address',
  'erase the holder',
] as const;
type Name = (typeof OPERATIONS)[number];

/** Far ahead, so that no job of an erasure is due for the clock of the database, which the job worker uses. */
const NOW = '2096-02-10T12:00:00Z';

let cases = 0;
const service = await Service.start();
afterThisFile(StatementGates.install());

/** A license holder with one session, and every operation that may end it or begin another. */
class HolderCase {
  /** The cookies of the sessions that the operations began, by the way of the sign-in. */
  readonly begun: Record<'key' | 'code', string[]> = { key: [], code: [] };

  private constructor(
    private readonly gates: StatementGates,
    /** How the session of `cookie` began. */
    readonly kind: 'key' | 'code',
    readonly license: { license_id: string; license_key: string; email: string },
    private readonly code: { id: string; code: string },
    readonly cookie: string,
    private readonly erasureId: string,
  ) {}

  static async make(scheduler: fc.Scheduler, kind: 'key' | 'code'): Promise<HolderCase> {
    service.clock.set(NOW);
    const license = await service.issue({ email: `holder-${(cases += 1)}@example.com`, machines_allowed: 3 });
    const browser = new Browser(service);
    if (kind === 'key') await browser.signInByKey(license);
    else {
      const { id, code } = await codeFor(license.email);
      browser.cookies.set('mooring_code', id);
      await browser.call('POST', '/session', { email: license.email, code });
    }
    const erasure = await service.app.get(ErasureService).request(license.email);
    service.clock.advance(SESSION_AGE_MS);
    const gates = new StatementGates(service, scheduler);
    const cookie = browser.cookies.get('mooring_holder')!;
    return new HolderCase(gates, kind, license, await codeFor(license.email), cookie, erasure.id);
  }

  run(names: readonly Name[]): Promise<void[]> {
    return this.gates.all(Object.fromEntries(names.map((name) => [name, () => this.#operations[name]()])));
  }

  /** Reads the licenses of a session. No response contains data of the next holder. @returns the status */
  async read(cookie: string): Promise<number> {
    const { status, text } = await this.gates.call('GET', '/portal/api/session', { holder: cookie });
    expect([200, 204]).toContain(status);
    if (status === 200) expect(JSON.parse(text).email).toBe(this.license.email);
    expect(text).not.toContain(this.nextEmail);
    expect(text).not.toContain(HINT_OF_NEXT_HOLDER);
    return status;
  }

  get nextEmail(): string {
    return `next-${this.license.email}`;
  }

  readonly #operations: Record<Name, () => Promise<void>> = {
    read: () => this.#readTwice(),
    'read again': () => this.#readTwice(),
    'sign in by key': () => this.#signIn('key', { license_key: this.license.license_key }),
    'sign in by code': () => this.#signIn('code', { code: this.code.code }),
    'sign in by the same code': () => this.#signIn('code', { code: this.code.code }),
    'sign out': async () => {
      const { status } = await this.gates.call('DELETE', '/portal/api/session', { holder: this.cookie });
      expect([204, 401]).toContain(status);
      expect(await this.read(this.cookie)).toBe(204);
    },
    'replace the key': async () => {
      await service.app
        .get(LicensesService)
        .rekey(this.license.license_id, AUDIT_CONTEXT)
        // An erased license has no key any more.
        .catch((error: unknown) => expect(error).toMatchObject({ code: 'key_not_mailable' }));
      if (this.kind === 'key') expect(await this.read(this.cookie)).toBe(204);
    },
    'change the address': () => this.#changeAddress(),
    'erase the holder': async () => {
      await service.app.get(ErasureService).run(this.erasureId, AUDIT_CONTEXT);
      // Also after a change of the address: the change ends a session by key, and a session by code keeps the former address, whose
      // sessions the erasure ends.
      expect(await this.read(this.cookie)).toBe(204);
    },
  };

  async #readTwice(): Promise<void> {
    const first = await this.read(this.cookie);
    const second = await this.read(this.cookie);
    // A session that has ended is never valid again.
    if (first === 204) expect(second).toBe(204);
  }

  async #signIn(kind: 'key' | 'code', proof: object): Promise<void> {
    const cookies = { holder: this.cookie, code: this.code.id };
    const body = { email: this.license.email, ...proof };
    const answer: GatedAnswer = await this.gates.call('POST', '/portal/api/session', cookies, body);
    if (answer.status !== 204) {
      expect([kind, answer.status]).toEqual(kind === 'key' ? ['key', 404] : ['code', 403]);
      return;
    }
    this.begun[kind].push(answer.cookie('holder')!);
    // The request had the cookie of this session, so the sign-in has replaced the session.
    expect(await this.read(this.cookie)).toBe(204);
    await this.read(answer.cookie('holder')!);
  }

  async #changeAddress(): Promise<void> {
    const email = this.nextEmail;
    try {
      await service.app.get(LicensesService).set(this.license.license_id, { email }, AUDIT_CONTEXT);
    } catch (error) {
      expect(error).toMatchObject({ code: 'license_erased' });
      return;
    }
    const machine = activation({ license_key: this.license.license_key, email }, `machine of ${email}`, {
      hostname_hint: HINT_OF_NEXT_HOLDER,
    });
    const { status } = await this.gates.call('POST', '/v1/activate', {}, machine);
    // 404: the key was replaced before.
    expect([200, 201, 404]).toContain(status);
    if (this.kind === 'key') expect(await this.read(this.cookie)).toBe(204);
  }
}

async function codeFor(email: string): Promise<{ id: string; code: string }> {
  const id = await service.app.get(SignInCodes).send(email);
  const [{ nonce }] = (await service.sql<{ nonce: Buffer }>('select nonce from one_time_code where id = $1', [
    id,
  ])) as [{ nonce: Buffer }];
  return { id, code: service.app.get(LicenseKeys).signInCode({ id, nonce }) };
}

test('a holder has exactly the sessions that no operation ended, in any order of statements', () =>
  fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.constantFrom('key' as const, 'code' as const),
      fc.subarray([...OPERATIONS], { minLength: 2, maxLength: 4 }),
      async (scheduler, kind, names) => {
        const holder = await HolderCase.make(scheduler, kind);
        await holder.run(names);
        const hasRun = (...operations: Name[]) => operations.some((name) => names.includes(name));
        const { key, code } = holder.begun;
        const isErased = hasRun('erase the holder');
        const areKeySessionsEnded = isErased || hasRun('replace the key', 'change the address');
        const isReplaced = key.length + code.length > 0;
        const hasEnded =
          isReplaced || isErased || hasRun('sign out') || (kind === 'key' && areKeySessionsEnded);
        expect(await holder.read(holder.cookie)).toBe(hasEnded ? 204 : 200);
        for (const cookie of key) expect(await holder.read(cookie)).toBe(areKeySessionsEnded ? 204 : 200);
        for (const cookie of code) expect(await holder.read(cookie)).toBe(isErased ? 204 : 200);
        if (hasRun('sign in by key') && !areKeySessionsEnded) expect(key).toHaveLength(1);
        const triesCode = hasRun('sign in by code', 'sign in by the same code');
        expect(code.length).toBeLessThanOrEqual(1);
        // A change deletes the codes of an address that no license has any more.
        const areCodesDeleted = isErased || hasRun('change the address');
        if (triesCode && !areCodesDeleted) expect(code).toHaveLength(1);
        const validSessions =
          Number(!hasEnded) + (areKeySessionsEnded ? 0 : key.length) + (isErased ? 0 : code.length);
        const { license_id, email } = holder.license;
        const sql = 'select id from session where license_id = $1 or email = any($2)';
        expect(await service.sql(sql, [license_id, [email, holder.nextEmail]])).toHaveLength(validSessions);
      },
    ),
    runs(40),
  ));
