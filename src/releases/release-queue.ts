import { DataSource } from 'typeorm';
import { toActivationView } from '../activation/license-overview.js';
import type { Activation } from '../activation/activation.entity.js';
import { rfc3339, type RowOf } from '../core/clock.js';
import { queryRows } from '../database/sql.js';
import { MAX_LISTED_REQUESTS } from '../fields/max-listed-requests.js';
import type { WaitingReleaseRequest } from '../http/responses/api-types.js';

type Row = Omit<RowOf<WaitingReleaseRequest, 'asked_at'>, 'activation'> &
  Pick<Activation, 'hostname_hint' | 'app_version' | 'activated_at' | 'ended_at' | 'ended_reason'> & {
    readonly activation_id: string;
  };

// Omits requests for activations that have ended meanwhile.
const WAITING_REQUESTS = `
  select r.id, r.asked_at, r.reason, r.language, r.activation_id,
    a.hostname_hint, a.app_version, a.activated_at, a.ended_at, a.ended_reason,
    (select json_build_object('id', l.id, 'key_hint', l.key_hint, 'email', l.email,
       'machines_allowed', l.machines_allowed, 'machines_in_use',
       (select count(*) from activation where license_id = l.id and ended_at is null))
     from license l where l.id = a.license_id) as license
  from release_request r join activation a on a.id = r.activation_id
  where r.decided_at is null and a.ended_at is null order by r.asked_at, r.id limit ${MAX_LISTED_REQUESTS}`;

/** Finds the requests that wait for a decision, oldest first, at most `MAX_LISTED_REQUESTS`. */
export async function findWaitingRequests(dataSource: DataSource): Promise<WaitingReleaseRequest[]> {
  const rows = await queryRows<Row>(dataSource, WAITING_REQUESTS);
  return rows.map(({ id, asked_at, reason, language, license, activation_id, ...activation }) => ({
    id,
    asked_at: rfc3339(asked_at),
    reason,
    language,
    license,
    activation: toActivationView({ id: activation_id, ...activation }),
  }));
}
