import {
  UNKNOWN_ID,
  UNRESTRICTED_VERSION,
  type Command,
  type License,
  type Outcome,
} from '../license-model.js';
import { withoutResponse, type Operation } from './history.js';
import type { State } from './transition.js';

/* Operations for histories that are written by hand, about a license for one machine. A test states the verdict that the checker
   must reach. */

export const NOW = Date.parse('2026-11-20T13:00:00Z');
const EMAIL = 'ada@example.com';

export const stateWithLicense = (members: Partial<License> = {}): State => ({
  holders: [EMAIL],
  state: {
    now: NOW,
    erased: [],
    deletedActivations: [],
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
        is_deleted: false,
        reports: null,
        activations: [],
        ...members,
      },
    ],
  },
});

let lastNumber = 0;
function operation(
  command: Command,
  result: string,
  [invoked, returned]: [number, number],
  members: Partial<Outcome> = {},
): Operation {
  const outcome = { result, ...members };
  const common = { number: (lastNumber += 1), client: 1, instance: 1, command, invoked, returned, outcome };
  return { ...common, earliest: invoked, clock: [NOW, NOW] };
}

type Times = [invoked: number, returned: number];
export const activate = (machine: string, times: Times, id: string, { inUse = 1, allowed = 1 } = {}) => {
  const request = {
    licenseIndex: 0,
    generation: 1,
    email: EMAIL,
    machine,
    hostname_hint: machine,
    app_version: UNRESTRICTED_VERSION,
  };
  const members = {
    hostname_hint: machine,
    machines_allowed: allowed,
    machines_in_use: inUse,
    expires_at: null,
  };
  return operation({ type: 'activate', ...request }, '201', times, { activationId: id, ...members });
};
export const refusedActivate = (machine: string, times: Times) => {
  const { command } = activate(machine, times, UNKNOWN_ID);
  const members = { machines_allowed: 1, machines_in_use: 1 };
  return operation(command as Command, '409 machine_limit_reached stop', times, members);
};
export const release = (activationId: string, times: Times) =>
  operation({ type: 'release', licenseIndex: 0, activationId }, '200', times, { state: 'released' });
const heartbeatCommand = (activationId: string): Command => ({
  type: 'heartbeat',
  licenseIndex: 0,
  activationId,
  app_version: UNRESTRICTED_VERSION,
  token: '',
  telemetry: false,
});
export const heartbeat = (activationId: string, times: Times) =>
  operation(heartbeatCommand(activationId), '200', times, {
    activationId,
    expires_at: null,
    telemetry: false,
  });
export const refusedHeartbeat = (activationId: string, times: Times) =>
  operation(heartbeatCommand(activationId), '403 binding_released stop', times);

/** The same operation as if its response had been lost. `withoutResponse` keeps the id that a received response showed. */
export function withLostResponse(each: Operation): Operation {
  const { observedId: _, ...rest } = withoutResponse(each);
  return rest;
}
