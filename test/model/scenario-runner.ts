import { isDeepStrictEqual } from 'node:util';
import { expect } from '@jest/globals';
import { DataSource } from 'typeorm';
import { rfc3339 } from '../../src/core/clock.js';
import { RetentionService } from '../../src/retention/retention.service.js';
import { Sessions } from '../../src/http/sessions/sessions.js';
import { LicenseKeys } from '../../src/keys/license-keys.js';
import { answered, call, machineId, type Answer, type Service } from '../support/harness.js';
import { inLine } from './send-in-order.js';
import { resolve, type CommandTemplate } from './scenarios.js';
import {
  DEFAULT_MACHINES,
  NIGHT,
  UNGUARDED,
  type Command,
  type License,
  type ModelState,
} from './license-model.js';
import { step } from './license-steps.js';
import {
  expectedViews,
  explained,
  outcome,
  shownToHolder,
  shownToStaff,
  type Observed,
  type Views,
} from './observed-state.js';
import { ORIGIN } from '../support/http/cookie-client.js';
import { report, sold } from '../support/http/webhook.js';

/** When every scenario begins. */
export const START = Date.parse('2026-11-20T13:00:00Z');
const ADMIN = 'admin@staff.example';
const reason = 'a test';

/** Runs a scenario on the service, and compares each response and the views with the model. */
export class ScenarioRunner {
  readonly holders: readonly string[];
  state: ModelState;
  /** What was done, for the message of a failure. */
  readonly log: string[] = [];
  readonly ids: (string | undefined)[] = [undefined, undefined];
  /** Every issued token, by binding. */
  readonly tokens = new Map<string, string[]>();
  /** The ids of each binding's requests, oldest first. */
  readonly requests = new Map<string, string[]>();
  #authorization = '';
  readonly #sessions = new Map<string, Promise<Record<string, string>>>();

  constructor(
    readonly instances: readonly Service[],
    /** Restarts the second instance. */
    readonly restart: () => Promise<void>,
    readonly name: string,
  ) {
    this.holders = [`ada-${name}@example.com`, `bob-${name}@example.com`];
    // The first license is issued by staff, the second one is sold.
    this.state = { now: START, erased: [], forgotten: [], licenses: [unissued(null), unissued([])] };
  }

  get one(): Service {
    return this.instances[0]!;
  }

  /** @param bags commands that are sent at once; most bags hold one */
  async run(bags: readonly (readonly CommandTemplate[])[]): Promise<void> {
    this.one.clock.set(new Date(START));
    await this.signIn();
    try {
      for (const bag of bags) await this.together(bag);
    } catch (error) {
      const story = this.log.join('\n');
      throw new Error(
        `${(error as Error).message}\n\nWhat was done, commands sent at once in one line:\n${story}`,
        {
          cause: error,
        },
      );
    }
  }

  // A staff token is valid for 90 days, a scenario takes years.
  private async signIn(): Promise<void> {
    this.#authorization = `Bearer ${await this.one.staffToken('admin', ADMIN)}`;
  }

  private async together(bag: readonly CommandTemplate[]): Promise<void> {
    const commands = bag.flatMap((template) => resolve(template, this) ?? []);
    const [first] = commands;
    if (!first) return;
    if (first.do === 'restart') {
      await this.restart();
      step(this.state, first);
      this.log.push('an instance is started anew');
      return this.compare(await this.look());
    }
    if (first.do === 'move') {
      // A change of time affects all commands of a batch, so it is a batch of its own.
      this.one.clock.advance(first.seconds * 1000);
      this.log.push(`${first.seconds} seconds pass`);
      step(this.state, first);
      this.#sessions.clear();
      await this.signIn();
      return this.compare(await this.look());
    }
    this.state.erased = [];
    const sent = commands.filter((command) => command.do !== 'move' && command.do !== 'restart');
    const sending = sent.map((command, i) => () => this.send(command, i, sent.length === 1));
    // Half of the batches get the lock in their order; the others run in any order.
    const locked = sent.length > 1 && bag[0]!.whose % 2 === 0 ? this.ids[bag[0]!.of] : undefined;
    const all = (
      await (locked ? inLine(this.one, locked, sending) : Promise.all(sending.map((send) => send())))
    ).flat();
    // If two retention runs are concurrent, either may have done the work.
    const observed = all.filter(
      ({ command }, i) =>
        command.do !== 'night' || i === all.findIndex((each) => isDeepStrictEqual(each.command, command)),
    );
    this.log.push(
      observed.map(({ command, outcome: answer }) => `${short(command)} → ${short(answer)}`).join('\n  | '),
    );
    // An erasure ends the sessions.
    if (commands.some((each) => each.do === 'erase')) this.#sessions.clear();
    const shown = await this.look(observed.length > 1);
    // For a single command, the difference of the responses is the best message.
    if (observed.length === 1) {
      expect(observed[0]!.outcome).toEqual(step(this.state, observed[0]!.command, observed[0]!.outcome!));
      return this.compare(shown);
    }
    const after = explained(this.state, observed, shown, this.holders);
    if (!after)
      throw new Error(`No order of the commands explains these responses and this state: ${short(shown)}`);
    this.state = after;
  }

  private compare(shown: Views): void {
    expect(shown).toEqual(expectedViews(this.state, this.holders, shown));
  }

  // A stalled service sheds load, and a client retries.
  private async send(command: Command, i: number, isAlone: boolean): Promise<Observed[]> {
    const session = 'email' in command ? await this.session(command.email) : {};
    if (command.do === 'night') return this.night(isAlone);
    const lost: Observed[] = [];
    for (;;) {
      const answer = await this.ask(this.instances[i % this.instances.length]!, command, session);
      if (answer.status !== 503) return [...lost, { command, outcome: this.heard(command, answer) }];
      lost.push({ command, outcome: null });
    }
  }

  /** @param isAlone if false, other commands lock rows, which a retention run skips and leaves to the next run */
  private async night(isAlone: boolean): Promise<Observed[]> {
    const { app, clock } = this.one;
    const report = await app.get(RetentionService).run(clock.now());
    // Runs one after the other: the other instance does what this one did not.
    if (!report) return [];
    expect(report.failed).toEqual([]);
    const outcome = isAlone ? { says: 'over' } : null;
    return this.state.licenses.flatMap((_license, of) =>
      NIGHT.map((rule) => ({ command: { do: 'night', of, rule }, outcome }) as const),
    );
  }

  private heard(command: Command, answer: Answer) {
    const { json } = answer;
    if (command.do === 'issue') this.ids[command.of] = json.license.id;
    const heard = outcome(command, answer);
    if (json?.token)
      this.tokens.set(heard.binding!, [...(this.tokens.get(heard.binding!) ?? []), json.token]);
    return heard;
  }

  private async ask(service: Service, command: Command, session: Record<string, string>): Promise<Answer> {
    const staff = (method: string, path: string, body?: object) =>
      call(
        service.url,
        method,
        `/support/api/${path}`,
        { reason, ...body },
        { authorization: this.#authorization },
      );
    const holder = (path: string) => call(service.url, 'POST', `/portal/api/${path}`, {}, session);
    switch (command.do) {
      case 'issue': {
        const { reason: _, ...body } = { reason, email: command.email, ...wire(command.terms) };
        return staff('POST', 'licenses', body);
      }
      case 'report': {
        const { email, status } = command;
        return report(service, { transaction_id: this.name, email, status });
      }
      case 'activate': {
        const { do: _, of, generation, machine, ...body } = command;
        const { license_key } = this.one.app.get(LicenseKeys).derive(this.ids[of]!, generation);
        return call(service.url, 'POST', '/v1/activate', {
          ...body,
          license_key,
          machine_id: machineId(machine),
        });
      }
      case 'heartbeat': {
        const { token, app_version, telemetry } = command;
        return service.heartbeat(token, { app_version, ...(telemetry && { telemetry: { arch: 'arm64' } }) });
      }
      case 'release':
        return staff('POST', `activations/${command.binding}/release`);
      case 'self-release':
        return holder(`activations/${command.binding}/release`);
      case 'ask':
        return holder(`activations/${command.binding}/release-request`);
      case 'decide': {
        const id = this.requests.get(command.binding)![command.nth]!;
        return staff('POST', `release-requests/${id}`, { decision: command.decision });
      }
      case 'change':
        return staff('PATCH', `licenses/${this.ids[command.of]!}`, wire(command.terms));
      case 'rekey':
        return staff('POST', `licenses/${this.ids[command.of]!}/rekey`);
      case 'erase': {
        const asked = await staff('POST', 'erasures', { email: command.email });
        return asked.status === 202 ? staff('POST', `erasures/${asked.json.erasure.id}/run`) : asked;
      }
      case 'move':
      case 'night':
      case 'restart':
        throw new Error('no request of a client');
    }
  }

  private session(email: string): Promise<Record<string, string>> {
    const session = this.#sessions.get(email) ?? this.begin(email);
    this.#sessions.set(email, session);
    return session;
  }

  /** A holder session that was opened with a mailed code. */
  private async begin(email: string): Promise<Record<string, string>> {
    const { app } = this.one;
    const cookie = await app.get(Sessions).begin(app.get(DataSource).manager, { email });
    return { cookie: `mooring_holder=${cookie}`, origin: ORIGIN };
  }

  private async look(isAtOnce = false): Promise<Views> {
    this.ids[1] ??= (await sold(this.one, this.name))?.license_id ?? undefined;
    const staff = this.ids.map(async (id) => {
      if (!id) return null;
      const { status, json } = await this.read(`/support/api/licenses/${id}`, {
        authorization: this.#authorization,
      });
      if (status === 404) return null;
      for (const request of json.license.release_requests.toReversed()) {
        const known = this.requests.get(request.activation_id) ?? [];
        if (!known.includes(request.id)) this.requests.set(request.activation_id, [...known, request.id]);
      }
      return shownToStaff(json.license);
    });
    // The view of the holder mostly follows from that of staff, so it is not read each time, which allows longer scenarios. But
    // after concurrent releases only it shows who released a machine.
    const asked = isAtOnce || this.log.length % 3 === 0 ? this.holders : [];
    const holders = asked.map(async (email) => {
      const { json } = await this.read('/portal/api/licenses', await this.session(email));
      const shown = new Map(
        json.licenses.map((license: { id: string }) => [license.id, shownToHolder(license)]),
      );
      return this.ids.map((id) => shown.get(id) ?? null);
    });
    const clients = [...this.tokens.keys()].map((id) => this.beat(id));
    return {
      staff: await Promise.all(staff),
      holders: await Promise.all(holders),
      clients: Object.fromEntries((await Promise.all(clients)).flat()),
    };
  }

  /** The response to a heartbeat with the newest token of a binding; undefined if it never got one. */
  private async beat(binding: string): Promise<[string, string][]> {
    const token = this.tokens.get(binding)?.at(-1);
    if (!token) return [];
    const answer = await answered(() => this.one.heartbeat(token, { app_version: UNGUARDED }));
    const { code, client_action } = answer.json;
    return [[binding, code ? `${answer.status} ${code} ${client_action}` : String(answer.status)]];
  }

  private async read(path: string, headers: Record<string, string>): Promise<Answer> {
    const answer = await answered(() => this.one.call('GET', path, undefined, headers));
    expect([200, 404]).toContain(answer.status);
    return answer;
  }
}

const unissued = (reports: License['reports']): License => ({
  email: null,
  is_issued: false,
  email_since: null,
  generation: 1,
  replaced_at: [],
  machines_allowed: DEFAULT_MACHINES,
  expires_at: null,
  on_expiry: 'keep',
  staff_status: 'active',
  ended_at: null,
  end_changed_at: 0,
  is_gone: false,
  reports,
  bindings: [],
});

/** The body of a change, as the API takes it. */
function wire({ expires_at, staff_status, ...terms }: Extract<Command, { do: 'change' }>['terms']) {
  return {
    ...terms,
    ...(expires_at !== undefined && { expires_at: expires_at && rfc3339(new Date(expires_at)) }),
    ...(staff_status && { status: staff_status }),
  };
}

const short = (value: unknown) =>
  JSON.stringify(value, (key, each) => (key === 'token' ? undefined : each)).replaceAll(/["{}]/g, '');
