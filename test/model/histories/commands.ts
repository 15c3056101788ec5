import { UNGUARDED, type Command } from '../license-model.js';
import type { CommandTemplate } from './plan.js';

/** What the clients of a license know about it from the responses that any of them got. */
export interface Known {
  /** The time from which planned expiries count. */
  readonly start: number;
  readonly email: string;
  /** The generation of the newest key that was announced. */
  generation: number;
  /** Activations by their id, the first one first, with the newest token of each. */
  readonly tokens: Map<string, string>;
  /** The activations that have ended according to a response. */
  readonly ended: Set<string>;
}

const MINUTE = 60_000;
/** Times before and after the start. A clock that is set passes some of them, the last one only if it is set by over an hour. */
const EXPIRIES = [null, -120 * MINUTE, -10 * MINUTE, 20 * MINUTE, 90 * MINUTE];
const MACHINES = 4;

const pickOf = <T>(all: readonly T[], pick: number): T => all[pick % all.length]!;

/** Makes a command from a template. While there is no activation that it could be about, it activates a machine. */
export function commandOf({ kind, pick, odd }: CommandTemplate, known: Known): Command {
  const { email, generation, tokens, ended, start } = known;
  const of = 0;
  switch (kind) {
    case 'paid':
    case 'disputed':
    case 'dispute_won':
    case 'refunded':
      return { do: 'report', of, email, status: kind };
    case 'rekey':
      return { do: 'rekey', of };
    case 'erase':
      return { do: 'erase', email };
    case 'machines':
      return { do: 'change', of, terms: { machines_allowed: pickOf([1, 2, 3, 9], pick) } };
    case 'status':
      return {
        do: 'change',
        of,
        terms: { staff_status: pickOf(['active', 'active', 'suspended', 'revoked'], pick) },
      };
    case 'expiry': {
      const after = pickOf(EXPIRIES, pick);
      return { do: 'change', of, terms: { expires_at: after === null ? null : start + after } };
    }
    case 'on_expiry':
      return { do: 'change', of, terms: { on_expiry: pickOf(['keep', 'stop'], pick) } };
  }
  const active = [...tokens.keys()].filter((id) => !ended.has(id));
  const binding = pickOf(odd || active.length === 0 ? [...tokens.keys()] : active, pick);
  if (kind === 'activate' || binding === undefined) {
    const machine = `machine ${1 + (pick % MACHINES)}`;
    const asked = { machine, hostname_hint: machine, app_version: UNGUARDED };
    return {
      do: 'activate',
      of,
      email,
      generation: odd && generation > 1 ? generation - 1 : generation,
      ...asked,
    };
  }
  if (kind === 'heartbeat')
    return { do: kind, of, binding, app_version: UNGUARDED, token: tokens.get(binding)!, telemetry: false };
  return kind === 'release' ? { do: kind, of, binding } : { do: kind, of, binding, email };
}
