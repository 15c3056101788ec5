import { hash, randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { DAY_MS, rfc3339 } from '../../../src/core/clock.js';
import { call, isConnectionLost, machineId, type Answer } from '../../support/harness.js';
import type { Command, Terms } from '../license-model.js';
import { readHolderView, readStaffView, type Views } from '../observed-state.js';
import { ORIGIN } from '../../support/http/cookie-client.js';
import { report, unixTime } from '../../support/http/webhook.js';
import type { Deployment, Instance } from './deployment.js';
import type { Scenario } from './plan.js';

const reason = 'a test';

/** The requests for one license, with the credentials of their senders. */
export class LicenseRequests {
  private constructor(
    private readonly deployment: Deployment,
    readonly email: string,
    readonly license_id: string,
    private readonly transaction_id: string,
    private readonly staff: Record<string, string>,
    private readonly holder: Record<string, string>,
  ) {}

  /** Issues the license, unless a purchase will create it, and creates credentials of staff and of the holder. */
  static async begin(
    deployment: Deployment,
    { isSold, machines_allowed, on_expiry }: Scenario,
    name: string,
  ): Promise<LicenseRequests> {
    const email = `${name}@example.com`;
    const staff = { authorization: `Bearer ${await createStaffToken(deployment)}` };
    const holder = await createHolderSession(deployment, email);
    const issue = async (): Promise<string> => {
      const body = { email, machines_allowed, on_expiry };
      const { url } = deployment.instances.find(({ isUp }) => isUp)!;
      return (await retryUntilAnswered(() => call(url, 'POST', '/support/api/licenses', body, staff))).json
        .license.id;
    };
    const license_id = isSold ? deployment.keys.purchaseIds(name).license_id : await issue();
    return new LicenseRequests(deployment, email, license_id, name, staff, holder);
  }

  async send({ url, clockBetween }: Instance, command: Command): Promise<Answer> {
    const { email, staff, holder } = this;
    const asStaff = (method: string, path: string, body?: object) =>
      call(url, method, `/support/api/${path}`, { reason, ...body }, staff);
    const asHolder = (path: string) => call(url, 'POST', `/portal/api/${path}`, {}, holder);
    switch (command.type) {
      case 'report': {
        const now = performance.now();
        // The service compares the time of the signature with the system clock of the instance, not with its `Clock`. A fault may
        // have set that clock, so the same offset is added to the time of this process.
        const at = unixTime() + Math.round((clockBetween(now, now)[1] - this.deployment.now()) / 1000);
        const { transaction_id } = this;
        return report({ url }, { transaction_id, email, status: command.status }, { at });
      }
      case 'activate': {
        const { hostname_hint, app_version, generation, machine } = command;
        const { license_key } = this.deployment.keys.derive(this.license_id, generation);
        const body = {
          license_key,
          email,
          machine_id: machineId(`${this.email} ${machine}`),
          hostname_hint,
          app_version,
        };
        return call(url, 'POST', '/v1/activate', body);
      }
      case 'heartbeat':
        return call(url, 'POST', '/v1/heartbeat', { token: command.token, app_version: command.app_version });
      case 'release':
        return asStaff('POST', `activations/${command.activationId}/release`);
      case 'self-release':
        return asHolder(`activations/${command.activationId}/release`);
      case 'request-release':
        return asHolder(`activations/${command.activationId}/release-request`);
      case 'change-license':
        return asStaff('PATCH', `licenses/${this.license_id}`, toRequestBody(command.terms));
      case 'rekey':
        return asStaff('POST', `licenses/${this.license_id}/rekey`);
      case 'erase': {
        const requested = await asStaff('POST', 'erasures', { email });
        return requested.status === 202
          ? asStaff('POST', `erasures/${requested.json.erasure.id}/run`)
          : requested;
      }
      default:
        throw new Error(`The command ${command.type} is not a request.`);
    }
  }

  /** Reads what staff and the holder see. These are several requests, so they are repeated until two results are equal. */
  async readViews(instance: () => Instance): Promise<Views> {
    for (let before = ''; ;) {
      const staff = [await this.readForStaff(instance)];
      const views = { staff, holders: [[await this.readForHolder(instance)]], clients: {} };
      const now = JSON.stringify(views);
      if (now === before) return views;
      before = now;
    }
  }

  private async readForStaff(instance: () => Instance): Promise<unknown> {
    const path = `/support/api/licenses/${this.license_id}`;
    const { status, json } = await retryUntilAnswered(() =>
      call(instance().url, 'GET', path, undefined, this.staff),
    );
    return status === 404 ? null : readStaffView(json.license);
  }

  private async readForHolder(instance: () => Instance): Promise<unknown> {
    for (;;) {
      // An erasure may have ended the session of the clients. An erasure whose response was lost may still end this session.
      const holder = await createHolderSession(this.deployment, this.email);
      const read = () => call(instance().url, 'GET', '/portal/api/session', undefined, holder);
      const { status, json } = await retryUntilAnswered(read);
      if (status === 204) continue;
      const license = json.licenses.find(({ id }: { id: string }) => id === this.license_id);
      return license ? readHolderView(license) : null;
    }
  }
}

/** Repeats a request until a response other than a 503 comes. */
async function retryUntilAnswered(request: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await request().catch((error: unknown) => {
      if (!isConnectionLost(error)) throw error;
    });
    if (answer && answer.status !== 503) return answer;
  }
}

/** Translates the terms of a license to the names of the API. */
const toRequestBody = ({ expires_at, staff_status, ...terms }: Terms) => ({
  ...terms,
  ...(expires_at !== undefined && { expires_at: expires_at && rfc3339(new Date(expires_at)) }),
  ...(staff_status && { status: staff_status }),
});

/** Creates a session that began a day ago and ends in a day, so that it is also valid for an instance with a wrong clock. */
async function createHolderSession(deployment: Deployment, email: string): Promise<Record<string, string>> {
  const token = randomBytes(32).toString('base64url');
  await deployment.sql(
    'insert into session (id, token_hash, email, created_at, expires_at) values ($1, $2, $3, $4, $5) on conflict do nothing',
    [uuidv7(), hash('sha256', token, 'buffer'), email, ...aroundNow(deployment)],
  );
  return { cookie: `mooring_holder=${token}`, origin: ORIGIN };
}

async function createStaffToken(deployment: Deployment): Promise<string> {
  const token = `mst_${randomBytes(32).toString('base64url')}`;
  await deployment.sql(
    `with member as (
       insert into staff (id, email, role, created_at) values ($1, 'admin@staff.example', 'admin', $3)
       on conflict (email) do update set role = 'admin' returning id)
     insert into staff_token (id, staff_id, token_hash, created_at, expires_at) select $1, id, $2, $3, $4 from member on conflict do nothing`,
    [uuidv7(), hash('sha256', token, 'buffer'), ...aroundNow(deployment)],
  );
  return token;
}

const aroundNow = (deployment: Deployment): Date[] =>
  [-DAY_MS, DAY_MS].map((offset) => new Date(deployment.now() + offset));
