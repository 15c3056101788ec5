import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { StaffService } from '../../src/staff/staff.service.js';
import { Authenticator } from '../support/http/authenticator.js';
import { runs } from '../fuzz/fuzz.js';
import { Service } from '../support/harness.js';
import { StatementGates } from '../support/statement-gates.js';
import { ACT, Browser, printedLink, signedIn } from '../support-api/harness.js';
import { ORIGIN } from '../support/http/cookie-client.js';

const NOW = '2026-11-20T13:00:00Z';
/** After this a request renews its session. */
const RENEWAL_MS = 2 * 60_000;
const API = '/support/api';
const OPERATIONS = [
  'read',
  'sign in by passkey',
  'sign in by the same answer',
  'sign in by link',
  'sign in by the same link',
  'sign out',
  'remove the passkey',
  'enrol another passkey',
  'remove the person',
] as const;
type Name = (typeof OPERATIONS)[number];

let service: Service;
let uninstall = () => {};
let cases = 0;
beforeAll(async () => {
  service = await Service.start();
  await service.app.get(StaffService).add('root@example.com', 'admin', ACT);
  uninstall = StatementGates.install();
});
afterAll(async () => {
  uninstall();
  await service.close();
});

const staffCookie = (browser: Browser) => browser.cookies.get('mooring_staff')!;

/** The response of a browser to a challenge, and the cookie of the challenge. */
interface Prepared {
  readonly challenge: string;
  readonly response: object;
}

interface Setup {
  readonly id: string;
  readonly passkeyId: string;
  readonly link: string;
  readonly signIn: Prepared;
  readonly enrolment: Prepared;
  /** Session cookies of the owner, of another browser of the owner, and of a browser that signed in with the passkey. */
  readonly owner: string;
  readonly other: string;
  readonly byPasskey: string;
}

async function setUp(): Promise<Setup> {
  service.clock.set(NOW);
  const email = `person-${(cases += 1)}@example.com`;
  const owner = await signedIn(service, 'support', email);
  const other = await signedIn(service, 'support', email);
  const authenticator = new Authenticator(ORIGIN);
  const created = authenticator.create((await owner.post('passkeys/options', {})).json.options);
  const { passkey } = (await owner.post('passkeys', { response: created })).json;
  const thief = new Browser(service);
  const thiefOptions = (await thief.post('session/options', {})).json.options;
  await thief.post('session', { response: authenticator.get(thiefOptions) });
  const newPasskey = new Authenticator(ORIGIN).create(
    (await thief.post('passkeys/options', {})).json.options,
  );
  const newcomer = new Browser(service);
  const challenged = (await newcomer.post('session/options', {})).json.options;
  service.clock.advance(RENEWAL_MS);
  return {
    id: (await owner.get('session')).json.id,
    passkeyId: passkey.id,
    link: await printedLink(service, email),
    signIn: {
      challenge: newcomer.cookies.get('mooring_challenge')!,
      response: authenticator.get(challenged),
    },
    enrolment: { challenge: thief.cookies.get('mooring_challenge')!, response: newPasskey },
    owner: staffCookie(owner),
    other: staffCookie(other),
    byPasskey: staffCookie(thief),
  };
}

/** A staff member with three sessions, and all operations that may end a session or begin one. */
class StaffCase {
  /** Cookies of the sessions that the operations began. */
  readonly begun: Record<'passkey' | 'link', string[]> = { passkey: [], link: [] };
  /** The ids of the passkeys that were listed to the owner after the removal. */
  passkeysAfterRemoval: string[] | undefined;

  constructor(
    private readonly gates: StatementGates,
    readonly setup: Setup,
    private readonly names: readonly Name[],
  ) {}

  play(): Promise<void[]> {
    const work = this.names.map((name) => [name, () => this.#operations[name]()]);
    return this.gates.all(Object.fromEntries(work) as Record<Name, () => Promise<void>>);
  }

  did(...any: Name[]): boolean {
    return any.some((name) => this.names.includes(name));
  }

  async read(cookie: string): Promise<number> {
    const { status, text } = await this.gates.call('GET', `${API}/session`, { staff: cookie });
    expect([200, 401]).toContain(status);
    if (status === 200) expect(JSON.parse(text).id).toBe(this.setup.id);
    return status;
  }

  readonly #operations: Record<Name, () => Promise<void>> = {
    read: async () => {
      const [first, second] = [await this.read(this.setup.other), await this.read(this.setup.other)];
      // A session that has ended never comes back.
      if (first === 401) expect(second).toBe(401);
    },
    'sign in by passkey': () => this.#signIn('passkey'),
    'sign in by the same answer': () => this.#signIn('passkey'),
    'sign in by link': () => this.#signIn('link'),
    'sign in by the same link': () => this.#signIn('link'),
    'sign out': async () => {
      const { status } = await this.gates.call('DELETE', `${API}/session`, { staff: this.setup.other });
      expect([204, 401]).toContain(status);
      expect(await this.read(this.setup.other)).toBe(401);
    },
    'remove the passkey': () => this.#removePasskey(),
    'enrol another passkey': () => this.#enrol(),
    'remove the person': async () => {
      await service.app.get(StaffService).remove(this.setup.id, ACT);
      for (const cookie of [this.setup.owner, this.setup.other, this.setup.byPasskey])
        expect(await this.read(cookie)).toBe(401);
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
    this.begun[kind].push(answer.cookie('staff')!);
    expect(await this.read(other)).toBe(401);
    await this.read(answer.cookie('staff')!);
  }

  async #removePasskey(): Promise<void> {
    const { owner: staff, passkeyId, byPasskey } = this.setup;
    const { status } = await this.gates.call('DELETE', `${API}/passkeys/${passkeyId}`, { staff });
    expect(this.did('remove the person') ? [204, 401, 404] : [204]).toContain(status);
    expect(await this.read(byPasskey)).toBe(401);
    const list = await this.gates.call('GET', `${API}/passkeys`, { staff });
    if (list.status === 200) this.passkeysAfterRemoval = idsOf(JSON.parse(list.text).passkeys);
  }

  async #enrol(): Promise<void> {
    const { byPasskey: staff, enrolment } = this.setup;
    const { challenge, response } = enrolment;
    const cookies = { staff, challenge };
    const { status } = await this.gates.call('POST', `${API}/passkeys`, cookies, { response });
    const isEnded = this.did('remove the passkey', 'remove the person');
    // 403: the challenge is deleted with its person.
    expect(isEnded ? [201, 401, 403] : [201]).toContain(status);
  }
}

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id).toSorted();
const rowsOf = (table: string, id: string) =>
  service.sql<{ id: string }>(`select id from ${table} where staff_id = $1`, [id]);

/** Checks the final state after all operations. */
async function check(person: StaffCase): Promise<void> {
  const { setup, begun } = person;
  const isGone = person.did('remove the person');
  const isPasskeyGone = isGone || person.did('remove the passkey');
  const isReplaced = begun.link.length + begun.passkey.length > 0;
  const status = async (cookie: string, hasEnded: boolean) =>
    expect(await person.read(cookie)).toBe(hasEnded ? 401 : 200);
  await status(setup.owner, isGone);
  await status(setup.other, isPasskeyGone || isReplaced || person.did('sign out'));
  await status(setup.byPasskey, isPasskeyGone);
  for (const cookie of begun.passkey) await status(cookie, isPasskeyGone);
  // The removal of the passkey ends a session that began before it, and none that began after it.
  for (const cookie of begun.link) if (isGone || !isPasskeyGone) await status(cookie, isGone);
  for (const kind of ['link', 'passkey'] as const) expect(begun[kind].length).toBeLessThanOrEqual(1);
  if (person.did('sign in by link', 'sign in by the same link') && !isGone)
    expect(begun.link).toHaveLength(1);
  if (person.did('sign in by passkey', 'sign in by the same answer') && !isPasskeyGone)
    expect(begun.passkey).toHaveLength(1);
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
        await person.play();
        await check(person);
      },
    ),
    runs(40),
  ));
