import { isDeepStrictEqual } from 'node:util';
import { expect } from '@jest/globals';
import { DataSource } from 'typeorm';
import { rfc3339 } from '../../src/core/clock.js';
import { RetentionService } from '../../src/retention/retention.service.js';
import { Sessions } from '../../src/http/sessions/sessions.js';
import { LicenseKeys } from '../../src/keys/license-keys.js';
import { retryWhileUnavailable, call, machineId, type Answer, type Service } from '../support/harness.js';
import { sendInOrder } from './send-in-order.js';
import { resolveTemplate, type CommandTemplate } from './scenarios.js';
import {
  DEFAULT_MACHINES,
  RETENTION_RULES,
  UNRESTRICTED_VERSION,
  type Command,
  type License,
  type ModelState,
  type Terms,
} from './license-model.js';
import { step } from './license-steps.js';
import {
  expectedViews,
  findExplainingState,
  readHolderView,
  readOutcome,
  readStaffView,
  type Observed,
  type Views,
} from './observed-state.js';
import { ORIGIN } from '../support/http/cookie-client.js';
import { report, readPurchase } from '../support/http/webhook.js';

/** The time at which each scenario begins. */
export const START = Date.parse('2026-11-20T13:00:00Z');
const ADMIN = 'admin@staff.example';
const reason = 'a test';

/** Runs a scenario on the service, and compares each response and the views with the model. */
export class ScenarioRunner {
  readonly holders: readonly string[];
  state: ModelState;
  /** The executed commands with their responses, for the message of a failure. */
  readonly log: string[] = [];
  /** The ids of the two licenses, by their index; undefined until a license is issued. */
  readonly ids: (string | undefined)[] = [undefined, undefined];
  /** The tokens that each activation got, oldest first, by the id of the activation. */
  readonly tokens = new Map<string, string[]>();
  /** The ids of the release requests of each activation, oldest first, by the id of the activation. */
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
    // Staff issue the first license; the payment processor reports the purchase of the second one.
    this.state = {
      now: START,
      erased: [],
      deletedActivations: [],
      licenses: [unissuedLicense(null), unissuedLicense([])],
    };
  }

  get firstInstance(): Service {
    return this.instances[0]!;
  }

  /** @param batches the commands of a batch are sent at the same time; most batches have one command */
  async run(batches: readonly (readonly CommandTemplate[])[]): Promise<void> {
    this.firstInstance.clock.set(new Date(START));
    await this.createStaffToken();
    try {
      for (const batch of batches) await this.runBatch(batch);
    } catch (error) {
      const executed = this.log.join('\n');
      throw new Error(
        `${(error as Error).message}\n\nThe executed commands (a line with | is concurrent with the line before it):\n${executed}`,
        {
          cause: error,
        },
      );
    }
  }

  // A staff token is valid for 90 days, but the clock of a scenario advances by years, so each advance needs a new token.
  private async createStaffToken(): Promise<void> {
    this.#authorization = `Bearer ${await this.firstInstance.staffToken('admin', ADMIN)}`;
  }

  private async runBatch(batch: readonly CommandTemplate[]): Promise<void> {
    const commands = batch.flatMap((template) => resolveTemplate(template, this) ?? []);
    const [first] = commands;
    if (!first) return;
    if (first.type === 'restart-instance') {
      await this.restart();
      step(this.state, first);
      this.log.push('the second instance is restarted');
      return this.compare(await this.readViews());
    }
    if (first.type === 'advance-clock') {
      // The clock affects all commands of a batch, so the others of this batch are not sent.
      this.firstInstance.clock.advance(first.seconds * 1000);
      this.log.push(`the clock advances by ${first.seconds} seconds`);
      step(this.state, first);
      this.#sessions.clear();
      await this.createStaffToken();
      return this.compare(await this.readViews());
    }
    this.state.erased = [];
    const sent = commands.filter(
      (command) => command.type !== 'advance-clock' && command.type !== 'restart-instance',
    );
    const sendCommands = sent.map((command, i) => () => this.send(command, i, sent.length === 1));
    // The commands of half of the batches get the lock of their license in the order of the batch, the others in any order.
    const lockedId =
      sent.length > 1 && batch[0]!.secondPick % 2 === 0 ? this.ids[batch[0]!.licenseIndex] : undefined;
    const all = (
      await (lockedId
        ? sendInOrder(this.firstInstance, lockedId, sendCommands)
        : Promise.all(sendCommands.map((send) => send())))
    ).flat();
    // Two concurrent retention runs have the effect of one, so their equal commands count once.
    const observed = all.filter(
      ({ command }, i) =>
        command.type !== 'apply-retention' ||
        i === all.findIndex((each) => isDeepStrictEqual(each.command, command)),
    );
    this.log.push(
      observed
        .map(({ command, outcome }) => `${toShortText(command)} → ${toShortText(outcome)}`)
        .join('\n  | '),
    );
    // An erasure ends the sessions.
    if (commands.some((each) => each.type === 'erase')) this.#sessions.clear();
    const shown = await this.readViews(observed.length > 1);
    // For a single command, the difference between the responses of the service and of the model is the best message.
    if (observed.length === 1) {
      expect(observed[0]!.outcome).toEqual(step(this.state, observed[0]!.command, observed[0]!.outcome!));
      return this.compare(shown);
    }
    const after = findExplainingState(this.state, observed, shown, this.holders);
    if (!after)
      throw new Error(
        `No order of the commands explains these responses and this state: ${toShortText(shown)}`,
      );
    this.state = after;
  }

  private compare(shown: Views): void {
    expect(shown).toEqual(expectedViews(this.state, this.holders, shown));
  }

  // An overloaded service answers 503, and the client retries. Each attempt may have taken effect.
  private async send(command: Command, i: number, isAlone: boolean): Promise<Observed[]> {
    const session = 'email' in command ? await this.session(command.email) : {};
    if (command.type === 'apply-retention') return this.runRetention(isAlone);
    const unanswered: Observed[] = [];
    for (;;) {
      const answer = await this.request(this.instances[i % this.instances.length]!, command, session);
      if (answer.status !== 503) return [...unanswered, { command, outcome: this.learn(command, answer) }];
      unanswered.push({ command, outcome: null });
    }
  }

  /** @param isAlone false if concurrent commands may lock rows, which a retention run skips */
  private async runRetention(isAlone: boolean): Promise<Observed[]> {
    const { app, clock } = this.firstInstance;
    const report = await app.get(RetentionService).run(clock.now());
    // The run is skipped while another run is in progress, which does the same work.
    if (!report) return [];
    expect(report.failed).toEqual([]);
    const outcome = isAlone ? { result: 'retention applied' } : null;
    return this.state.licenses.flatMap((_license, licenseIndex) =>
      RETENTION_RULES.map(
        (rule) => ({ command: { type: 'apply-retention', licenseIndex, rule }, outcome }) as const,
      ),
    );
  }

  /** Remembers the ids and tokens of a response. @returns its outcome */
  private learn(command: Command, answer: Answer) {
    const { json } = answer;
    if (command.type === 'issue') this.ids[command.licenseIndex] = json.license.id;
    const outcome = readOutcome(command, answer);
    if (json?.token)
      this.tokens.set(outcome.activationId!, [...(this.tokens.get(outcome.activationId!) ?? []), json.token]);
    return outcome;
  }

  private async request(
    service: Service,
    command: Command,
    session: Record<string, string>,
  ): Promise<Answer> {
    const staff = (method: string, path: string, body?: object) =>
      call(
        service.url,
        method,
        `/support/api/${path}`,
        { reason, ...body },
        { authorization: this.#authorization },
      );
    const holder = (path: string) => call(service.url, 'POST', `/portal/api/${path}`, {}, session);
    switch (command.type) {
      case 'issue': {
        return staff('POST', 'licenses', { email: command.email, ...toRequestBody(command.terms) });
      }
      case 'report': {
        const { email, status } = command;
        return report(service, { transaction_id: this.name, email, status });
      }
      case 'activate': {
        const { type: _, licenseIndex, generation, machine, ...body } = command;
        const { license_key } = this.firstInstance.app
          .get(LicenseKeys)
          .derive(this.ids[licenseIndex]!, generation);
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
        return staff('POST', `activations/${command.activationId}/release`);
      case 'self-release':
        return holder(`activations/${command.activationId}/release`);
      case 'request-release':
        return holder(`activations/${command.activationId}/release-request`);
      case 'decide': {
        const id = this.requests.get(command.activationId)![command.requestIndex]!;
        return staff('POST', `release-requests/${id}`, { decision: command.decision });
      }
      case 'change-license':
        return staff('PATCH', `licenses/${this.ids[command.licenseIndex]!}`, toRequestBody(command.terms));
      case 'rekey':
        return staff('POST', `licenses/${this.ids[command.licenseIndex]!}/rekey`);
      case 'erase': {
        const requested = await staff('POST', 'erasures', { email: command.email });
        return requested.status === 202
          ? staff('POST', `erasures/${requested.json.erasure.id}/run`)
          : requested;
      }
      case 'advance-clock':
      case 'apply-retention':
      case 'restart-instance':
        throw new Error(`The command ${command.type} is not a request.`);
    }
  }

  private session(email: string): Promise<Record<string, string>> {
    const session = this.#sessions.get(email) ?? this.openSession(email);
    this.#sessions.set(email, session);
    return session;
  }

  /** Opens a session of a holder, as a sign-in with a mailed code does. @returns the headers of its requests */
  private async openSession(email: string): Promise<Record<string, string>> {
    const { app } = this.firstInstance;
    const cookie = await app.get(Sessions).begin(app.get(DataSource).manager, { email });
    return { cookie: `mooring_holder=${cookie}`, origin: ORIGIN };
  }

  private async readViews(isAfterConcurrentCommands = false): Promise<Views> {
    this.ids[1] ??= (await readPurchase(this.firstInstance, this.name))?.license_id ?? undefined;
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
      return readStaffView(json.license);
    });
    // The holder's view mostly follows from that of staff, so it is read only every third time, which allows longer scenarios.
    // But after concurrent releases only the holder's view shows whether the holder released a machine.
    const holdersToRead = isAfterConcurrentCommands || this.log.length % 3 === 0 ? this.holders : [];
    const holders = holdersToRead.map(async (email) => {
      const { json } = await this.read('/portal/api/session', await this.session(email));
      const shown = new Map(
        json.licenses.map((license: { id: string }) => [license.id, readHolderView(license)]),
      );
      return this.ids.map((id) => shown.get(id) ?? null);
    });
    const clients = [...this.tokens.keys()].map((id) => this.sendHeartbeat(id));
    return {
      staff: await Promise.all(staff),
      holders: await Promise.all(holders),
      clients: Object.fromEntries((await Promise.all(clients)).flat()),
    };
  }

  /** Sends a heartbeat with the newest token of an activation. @returns its id and the result; empty if it never got a token */
  private async sendHeartbeat(activationId: string): Promise<[string, string][]> {
    const token = this.tokens.get(activationId)?.at(-1);
    if (!token) return [];
    const answer = await retryWhileUnavailable(() =>
      this.firstInstance.heartbeat(token, { app_version: UNRESTRICTED_VERSION }),
    );
    const { code, client_action } = answer.json;
    return [[activationId, code ? `${answer.status} ${code} ${client_action}` : String(answer.status)]];
  }

  private async read(path: string, headers: Record<string, string>): Promise<Answer> {
    const answer = await retryWhileUnavailable(() =>
      this.firstInstance.call('GET', path, undefined, headers),
    );
    expect([200, 404]).toContain(answer.status);
    return answer;
  }
}

const unissuedLicense = (reports: License['reports']): License => ({
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
  is_deleted: false,
  reports,
  activations: [],
});

/** Translates the terms of a license to the names of the API. */
function toRequestBody({ expires_at, staff_status, ...terms }: Terms) {
  return {
    ...terms,
    ...(expires_at !== undefined && { expires_at: expires_at && rfc3339(new Date(expires_at)) }),
    ...(staff_status && { status: staff_status }),
  };
}

const toShortText = (value: unknown) =>
  JSON.stringify(value, (key, each) => (key === 'token' ? undefined : each)).replaceAll(/["{}]/g, '');
