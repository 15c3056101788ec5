import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { StaffService } from '../../src/staff/staff.service.js';
import { Authenticator } from '../support/http/authenticator.js';
import { runs } from '../fuzz/fuzz.js';
import { AUDIT_CONTEXT, NOW, Service } from '../support/harness.js';
import { StatementGates } from '../support/statement-gates.js';
import { Browser, createPrintedLink, signInStaff } from '../support-api/harness.js';
import { ORIGIN } from '../support/http/cookie-client.js';

/**
 * For how long the sessions `other` and `byPasskey` are idle when the operations begin. The first request after this time extends
 * the session, so it also writes the row of the session.
 */
const IDLE_MS = 2 * 60_000;
const API = '/support/api';
const OPERATIONS = [
  'read',
  'sign in by passkey',
  'sign in by the same passkey response',
  'sign in by link',
  'sign in by the same link',
  'sign out',
  'remove the passkey',
  'enrol another passkey',
  'remove the person',
] as const;
type Operation = (typeof OPERATIONS)[number];

let service: Service;
let uninstall = () => {};
let caseCount = 0;
beforeAll(async () => {
  service = await Service.start();
  await service.app.get(StaffService).add('root@example.com', 'admin', AUDIT_CONTEXT);
  uninstall = StatementGates.install();
});
afterAll(() => uninstall());

const staffCookie = (browser: Browser) => browser.cookies.get('mooring_staff')!;

/** The value of the challenge cookie, and the response of the browser to the challenge. */
interface ChallengeResponse {
  readonly challenge: string;
  readonly response: object;
}

interface Setup {
  readonly id: string;
  readonly passkeyId: string;
  readonly link: string;
  readonly signIn: ChallengeResponse;
  readonly enrolment: ChallengeResponse;
  /** Session cookies of the owner, of another browser of the owner, and of a browser that signed in with the passkey. */
  readonly owner: string;
  readonly other: string;
  readonly byPasskey: string;
}

/** Creates a staff member with a passkey and three sessions, and what the operations need. */
async function setUp(): Promise<Setup> {
  service.clock.set(NOW);
  const email = `person-${(caseCount += 1)}@example.com`;
  const owner = await signInStaff(service, 'support', email);
  const other = await signInStaff(service, 'support', email);
  // With a counter, a repeated response would be refused because of the counter.
  const authenticator = new Authenticator(ORIGIN, false);
  const created = authenticator.create((await owner.post('passkeys/options', {})).json.options);
  const { passkey } = (await owner.post('passkeys', { response: created })).json;
  const passkeyBrowser = new Browser(service);
  const passkeyOptions = (await passkeyBrowser.post('session/options', {})).json.options;
  await passkeyBrowser.post('session', { response: authenticator.get(passkeyOptions) });
  const newPasskey = new Authenticator(ORIGIN).create(
    (await passkeyBrowser.post('passkeys/options', {})).json.options,
  );
  const signInBrowser = new Browser(service);
  const signInOptions = (await signInBrowser.post('session/options', {})).json.options;
  service.clock.advance(IDLE_MS);
  return {
    id: (await owner.get('session')).json.id,
    passkeyId: passkey.id,
    link: await createPrintedLink(service, email),
    signIn: {
      challenge: signInBrowser.cookies.get('mooring_challenge')!,
      response: authenticator.get(signInOptions),
    },
    enrolment: { challenge: passkeyBrowser.cookies.get('mooring_challenge')!, response: newPasskey },
    owner: staffCookie(owner),
    other: staffCookie(other),
    byPasskey: staffCookie(passkeyBrowser),
  };
}

/** A staff member with three sessions, and the operations that run concurrently. */
class StaffCase {
  /** Cookies of the sessions that the operations began. */
  readonly begunSessions: Record<'passkey' | 'link', string[]> = { passkey: [], link: [] };
  /** The ids of the passkeys that were listed to the owner after the removal. */
  passkeysAfterRemoval: string[] | undefined;

  constructor(
    private readonly gates: StatementGates,
    readonly setup: Setup,
    private readonly operations: readonly Operation[],
  ) {}

  /** Runs the operations concurrently, with their statements in the order of the gates. */
  run(): Promise<void[]> {
    const work = this.operations.map((name) => [name, () => this.#runners[name]()]);
    return this.gates.all(Object.fromEntries(work) as Record<Operation, () => Promise<void>>);
  }

  includesAny(...names: Operation[]): boolean {
    return names.some((name) => this.operations.includes(name));
  }

  /** Reads the session of a cookie. @returns the status: 200, or 204 if the session has ended */
  async read(cookie: string): Promise<number> {
    const { status, text } = await this.gates.call('GET', `${API}/session`, { staff: cookie });
    expect([200, 204]).toContain(status);
    if (status === 200) expect(JSON.parse(text).id).toBe(this.setup.id);
    return status;
  }

  readonly #runners: Record<Operation, () => Promise<void>> = {
    read: async () => {
      const [first, second] = [await this.read(this.setup.other), await this.read(this.setup.other)];
      // A session that has ended stays ended.
      if (first === 204) expect(second).toBe(204);
    },
    'sign in by passkey': () => this.#signIn('passkey'),
    'sign in by the same passkey response': () => this.#signIn('passkey'),
    'sign in by link': () => this.#signIn('link'),
    'sign in by the same link': () => this.#signIn('link'),
    'sign out': async () => {
      const { status } = await this.gates.call('DELETE', `${API}/session`, { staff: this.setup.other });
      expect([204, 401]).toContain(status);
      expect(await this.read(this.setup.other)).toBe(204);
    },
    'remove the passkey': () => this.#removePasskey(),
    'enrol another passkey': () => this.#enrol(),
    'remove the person': async () => {
      await service.app.get(StaffService).remove(this.setup.id, AUDIT_CONTEXT);
      for (const cookie of [this.setup.owner, this.setup.other, this.setup.byPasskey])
        expect(await this.read(cookie)).toBe(204);
    },
  };

  async #signIn(kind: 'passkey' | 'link'): Promise<void> {
    const { signIn, link, other } = this.setup;
    const [path, body] =
      kind === 'link' ? ['session/link', { link }] : ['session', { response: signIn.response }];
    const cookies = { staff: other, challenge: signIn.challenge };
    const answer = await this.gates.call('POST', `${API}/${path}`, cookies, body);
    expect([204, 403]).toContain(answer.status);
    if (answer.status !== 204) return;
    this.begunSessions[kind].push(answer.cookie('staff')!);
    expect(await this.read(other)).toBe(204);
    await this.read(answer.cookie('staff')!);
  }

  async #removePasskey(): Promise<void> {
    const { owner: staff, passkeyId, byPasskey } = this.setup;
    const { status } = await this.gates.call('DELETE', `${API}/passkeys/${passkeyId}`, { staff });
    expect(this.includesAny('remove the person') ? [204, 401, 404] : [204]).toContain(status);
    expect(await this.read(byPasskey)).toBe(204);
    const list = await this.gates.call('GET', `${API}/passkeys`, { staff });
    if (list.status === 200) this.passkeysAfterRemoval = idsOf(JSON.parse(list.text).passkeys);
  }

  async #enrol(): Promise<void> {
    const { byPasskey: staff, enrolment } = this.setup;
    const { challenge, response } = enrolment;
    const cookies = { staff, challenge };
    const { status } = await this.gates.call('POST', `${API}/passkeys`, cookies, { response });
    const isEnded = this.includesAny('remove the passkey', 'remove the person');
    expect(isEnded ? [201, 401] : [201]).toContain(status);
  }
}

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id).toSorted();
const rowsOf = (table: string, id: string) =>
  service.sql<{ id: string }>(`select id from ${table} where staff_id = $1`, [id]);

/** Checks the final state after all operations. */
async function check(person: StaffCase): Promise<void> {
  const { setup, begunSessions } = person;
  const isGone = person.includesAny('remove the person');
  const isPasskeyGone = isGone || person.includesAny('remove the passkey');
  const isReplaced = begunSessions.link.length + begunSessions.passkey.length > 0;
  const expectEnded = async (cookie: string, hasEnded: boolean) =>
    expect(await person.read(cookie)).toBe(hasEnded ? 204 : 200);
  await expectEnded(setup.owner, isGone);
  await expectEnded(setup.other, isPasskeyGone || isReplaced || person.includesAny('sign out'));
  await expectEnded(setup.byPasskey, isPasskeyGone);
  for (const cookie of begunSessions.passkey) await expectEnded(cookie, isPasskeyGone);
  // Not checked if only the passkey was removed: the removal ends a session that began before it, and none that began later.
  for (const cookie of begunSessions.link) if (isGone || !isPasskeyGone) await expectEnded(cookie, isGone);
  for (const kind of ['link', 'passkey'] as const) expect(begunSessions[kind].length).toBeLessThanOrEqual(1);
  if (person.includesAny('sign in by link', 'sign in by the same link') && !isGone)
    expect(begunSessions.link).toHaveLength(1);
  if (person.includesAny('sign in by passkey', 'sign in by the same passkey response') && !isPasskeyGone)
    expect(begunSessions.passkey).toHaveLength(1);
  if (isGone) {
    for (const table of ['session', 'passkey', 'staff_link', 'passkey_challenge'])
      expect(await rowsOf(table, setup.id)).toEqual([]);
    expect(await service.sql('select id from staff where id = $1', [setup.id])).toEqual([]);
  } else if (person.passkeysAfterRemoval)
    // A session that the removal ended cannot add a passkey afterwards.
    expect(idsOf(await rowsOf('passkey', setup.id))).toEqual(person.passkeysAfterRemoval);
}

test('in any order of statements a staff member has exactly the sessions that no operation ended', () =>
  fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.subarray([...OPERATIONS], { minLength: 2, maxLength: 4 }),
      async (scheduler, names) => {
        const person = new StaffCase(new StatementGates(service, scheduler), await setUp(), names);
        await person.run();
        await check(person);
      },
    ),
    runs(40),
  ));
