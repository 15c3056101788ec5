import { UNGUARDED, type Command, type License, type Outcome } from '../license-model.js';
import { unanswered, type Operation } from './history.js';
import type { State } from './transition.js';

/* Histories that are written by hand, of a license for one machine: what the checker says of them is known. */

export const NOW = Date.parse('2026-11-20T13:00:00Z');
const EMAIL = 'ada@example.com';

export const license = (more: Partial<License> = {}): State => ({
  holders: [EMAIL],
  state: {
    now: NOW,
    erased: [],
    forgotten: [],
    licenses: [
      {
        email: EMAIL,
        is_issued: true,
        email_since: null,
        generation: 1,
        replaced_at: [],
        machines_allowed: 1,
        expires_at: null,
        on_expiry: 'stop',
        staff_status: 'active',
        ended_at: null,
        end_changed_at: 0,
        is_gone: false,
        reports: null,
        bindings: [],
        ...more,
      },
    ],
  },
});

let number = 0;
function operation(
  command: Command,
  says: string,
  [invoked, returned]: [number, number],
  facts: Partial<Outcome> = {},
): Operation {
  const outcome = { says, ...facts };
  const common = { number: (number += 1), client: 1, instance: 1, command, invoked, returned, outcome };
  return { ...common, earliest: invoked, clock: [NOW, NOW] };
}

type Times = [invoked: number, returned: number];
export const activate = (machine: string, times: Times, id: string, inUse = 1, allowed = 1) => {
  const asked = {
    of: 0,
    generation: 1,
    email: EMAIL,
    machine,
    hostname_hint: machine,
    app_version: UNGUARDED,
  };
  const facts = {
    hostname_hint: machine,
    machines_allowed: allowed,
    machines_in_use: inUse,
    expires_at: null,
  };
  return operation({ do: 'activate', ...asked }, '201', times, { binding: id, ...facts });
};
export const refusedActivate = (machine: string, times: Times) => {
  const { command } = activate(machine, times, '?');
  const facts = { machines_allowed: 1, machines_in_use: 1 };
  return operation(command as Command, '409 machine_limit_reached stop', times, facts);
};
export const release = (binding: string, times: Times) =>
  operation({ do: 'release', of: 0, binding }, '200', times, { state: 'released' });
const beat = (binding: string): Command => ({
  do: 'heartbeat',
  of: 0,
  binding,
  app_version: UNGUARDED,
  token: '',
  telemetry: false,
});
export const heartbeat = (binding: string, times: Times) =>
  operation(beat(binding), '200', times, { binding, expires_at: null, telemetry: false });
export const refusedHeartbeat = (binding: string, times: Times) =>
  operation(beat(binding), '403 binding_released stop', times);

/** An operation whose response was lost. */
export function lost(each: Operation): Operation {
  const { observed: _, ...rest } = unanswered(each);
  return rest;
}
