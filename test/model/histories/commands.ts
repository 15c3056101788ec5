import { UNRESTRICTED_VERSION, type Command, type Terms } from '../license-model.js';
import type { CommandTemplate } from './plan.js';

/** What the clients of a license know about it from their responses. All clients share this knowledge. */
export interface ClientKnowledge {
  /** The start of the scenario, to which planned expiries are relative. */
  readonly start: number;
  readonly email: string;
  /** The generation of the newest license key, according to the responses. */
  generation: number;
  /** The newest token of each activation, by the id of the activation, in the order of the first responses. */
  readonly tokens: Map<string, string>;
  /** The activations that have ended according to a response. */
  readonly ended: Set<string>;
}

const MINUTE_MS = 60_000;
/** Expiries relative to the start. A fault sets a clock 30 or 120 minutes ahead or back, and so past some of them. */
const EXPIRY_OFFSETS_MS = [null, -120 * MINUTE_MS, -10 * MINUTE_MS, 20 * MINUTE_MS, 90 * MINUTE_MS];
const MACHINE_COUNT = 4;

const pickOf = <T>(all: readonly T[], pick: number): T => all[pick % all.length]!;

/**
 * Makes a command from a template. While no activation is known, a template that needs one becomes the activation of a
 * machine. An unusual command uses the key before the newest one, or may name an ended activation.
 */
export function resolveTemplate({ kind, pick, isUnusual }: CommandTemplate, known: ClientKnowledge): Command {
  const { email, generation, tokens, ended, start } = known;
  const licenseIndex = 0;
  const change = (terms: Terms): Command => ({ type: 'change-license', licenseIndex, terms });
  switch (kind) {
    case 'paid':
    case 'disputed':
    case 'dispute_won':
    case 'refunded':
      return { type: 'report', licenseIndex, email, status: kind };
    case 'rekey':
      return { type: 'rekey', licenseIndex };
    case 'erase':
      return { type: 'erase', email };
    case 'machines':
      return change({ machines_allowed: pickOf([1, 2, 3, 9], pick) });
    case 'status':
      return change({ staff_status: pickOf(['active', 'active', 'suspended', 'revoked'], pick) });
    case 'expiry': {
      const offset = pickOf(EXPIRY_OFFSETS_MS, pick);
      return change({ expires_at: offset === null ? null : start + offset });
    }
    case 'on_expiry':
      return change({ on_expiry: pickOf(['keep', 'stop'], pick) });
  }
  const active = [...tokens.keys()].filter((id) => !ended.has(id));
  const activationId = pickOf(isUnusual || active.length === 0 ? [...tokens.keys()] : active, pick);
  if (kind === 'activate' || activationId === undefined) {
    const machine = `machine ${1 + (pick % MACHINE_COUNT)}`;
    const request = { machine, hostname_hint: machine, app_version: UNRESTRICTED_VERSION };
    return {
      type: 'activate',
      licenseIndex,
      email,
      generation: isUnusual && generation > 1 ? generation - 1 : generation,
      ...request,
    };
  }
  if (kind === 'heartbeat')
    return {
      type: kind,
      licenseIndex,
      activationId,
      app_version: UNRESTRICTED_VERSION,
      token: tokens.get(activationId)!,
      telemetry: false,
    };
  return kind === 'release'
    ? { type: kind, licenseIndex, activationId }
    : { type: kind, licenseIndex, activationId, email };
}
