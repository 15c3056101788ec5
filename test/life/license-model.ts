import type { PurchaseState, StaffStatus } from '../../src/licenses/license.rules.js';

/*
 * The life of a few licenses by the contract's words alone: plain data, and what each command does to it. Nothing of the
 * service is used, so that what the service believes of itself is held against something else.
 */

const RANKED: readonly PurchaseState[] = ['paid', 'disputed', 'dispute_won', 'refunded'];
/** A published version, and the expiry that a license needs at least to cover it. */
export const GUARDED = { version: '4.0.0', minimum: Date.parse('2027-01-01T00:00:00Z') };
/** One that every license covers. */
export const UNGUARDED = '3.2.0';
export const SELF_RELEASES = 1;
export const DEFAULT_MACHINES = 2;
const YEAR = 365 * 86_400_000;

export interface Binding {
  id: string;
  machine: string;
  hostname_hint: string | null;
  app_version: string;
  activated_at: number;
  ended: { at: number; reason: 'released' | 'refunded' } | null;
  by_holder: boolean;
  /** What its holder asked of support, the newest last. */
  requests: { at: number; decision: string | null; decided_at: number | null }[];
}
export interface License {
  /** Null until it is issued, and once its holder was erased: `is_issued` tells which. */
  email: string | null;
  is_issued: boolean;
  generation: number;
  machines_allowed: number;
  expires_at: number | null;
  on_expiry: 'keep' | 'stop';
  staff_status: StaffStatus;
  /** Since when it is refunded, revoked or erased: it stays a year after that. */
  ended_at: number | null;
  /** Whether it had its time, and no row of it is left. */
  is_gone: boolean;
  /** What the processor reported; null of a license that staff issued. */
  reports: PurchaseState[] | null;
  bindings: Binding[];
}
export interface Life {
  now: number;
  licenses: License[];
  /** Whose sessions went while the commands of one bag were under way. */
  erased: string[];
  /** The bindings that had their time. */
  forgotten: string[];
}
export type Terms = Partial<
  Pick<License, 'machines_allowed' | 'expires_at' | 'on_expiry' | 'staff_status'> & { email: string }
>;

/** A command; `of` is the license's place in `Life`. Bindings go by their id, requests by their place. */
export type Command =
  | { do: 'issue'; of: number; email: string; terms: Terms }
  | { do: 'report'; of: number; email: string; status: PurchaseState }
  | {
      do: 'activate';
      of: number;
      generation: number;
      email: string;
      machine: string;
      hostname_hint: string;
      app_version: string;
    }
  | { do: 'heartbeat'; of: number; binding: string; app_version: string; token: string; telemetry: boolean }
  | { do: 'release'; of: number; binding: string }
  | { do: 'self-release'; of: number; binding: string; email: string }
  | { do: 'ask'; of: number; binding: string; email: string }
  | { do: 'decide'; of: number; binding: string; nth: number; decision: string }
  | { do: 'change'; of: number; terms: Terms }
  | { do: 'rekey'; of: number }
  | { do: 'erase'; email: string }
  // A night of retention; of a whole one each rule is a command of its own.
  | { do: 'night'; rule: 'activation' | 'license' }
  | { do: 'restart' }
  | { do: 'move'; seconds: number };

/** An answer: status, code and client_action in one line, and the facts beside them. */
export interface Said {
  readonly says: string;
  readonly binding?: string;
  readonly [fact: string]: unknown;
}

const refused = (code: string, status = 403, action = 'stop') => ({ says: `${status} ${code} ${action}` });

export const purchaseState = ({ reports }: License): PurchaseState | null =>
  RANKED.findLast((state) => reports?.includes(state)) ?? null;

export function statusOf(license: License): string {
  if (purchaseState(license) === 'refunded') return 'refunded';
  if (license.staff_status === 'revoked') return 'revoked';
  const isDisputed = purchaseState(license) === 'disputed';
  return license.staff_status === 'suspended' || isDisputed ? 'suspended' : 'active';
}

export const activeOf = ({ bindings }: License) => bindings.filter(({ ended }) => !ended);

export const selfReleasesLeft = ({ bindings }: License, now: number) =>
  SELF_RELEASES - bindings.filter(({ by_holder, ended }) => by_holder && now - ended!.at < YEAR).length;

/** The first refusal in the contract's order. */
export function refusal(license: License, binding: Binding | null, app_version: string, now: number) {
  const { expires_at, on_expiry } = license;
  if (statusOf(license) !== 'active') return refused(`license_${statusOf(license)}`);
  if (binding?.ended) return refused('binding_released');
  if (expires_at === null) return undefined;
  if (on_expiry === 'stop' && now >= expires_at)
    return { ...refused('license_expired'), expired_at: expires_at };
  const isGuarded = app_version === GUARDED.version && expires_at < GUARDED.minimum;
  return isGuarded ? refused('version_not_covered') : undefined;
}

function end(binding: Binding, at: number, reason: 'released' | 'refunded'): void {
  binding.ended ??= { at, reason };
}

/** What ended leaves a year after that day (privacy, Retention and deletion). */
function hadItsTime(end: number | null, now: number): boolean {
  if (end === null) return false;
  const day = new Date(end);
  const [year, month] = [day.getUTCFullYear() + 1, day.getUTCMonth()];
  const lastOfMonth = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return Date.UTC(year, month, Math.min(day.getUTCDate(), lastOfMonth)) <= now;
}

function forget(life: Life, rule: 'activation' | 'license'): void {
  const { now } = life;
  for (const license of life.licenses) {
    const { ended_at, on_expiry, expires_at, is_issued } = license;
    const hasEnded = hadItsTime(ended_at, now) || (on_expiry === 'stop' && hadItsTime(expires_at, now));
    if (rule === 'license' && is_issued && hasEnded) Object.assign(license, { is_gone: true, email: null });
    const [gone, kept] = split(license.bindings, ({ ended }) =>
      rule === 'license' ? license.is_gone : hadItsTime(ended?.at ?? null, now),
    );
    license.bindings = kept;
    life.forgotten.push(...gone.map(({ id }) => id));
  }
}

function split<T>(all: readonly T[], isFirst: (each: T) => boolean): [T[], T[]] {
  return [all.filter(isFirst), all.filter((each) => !isFirst(each))];
}

/** Sets when the license ended, or that it did not. */
function noteEnd(license: License, now: number): void {
  const { is_issued, email, ended_at } = license;
  if (!is_issued) return;
  const hasEnded = ['refunded', 'revoked'].includes(statusOf(license)) || email === null;
  license.ended_at = hasEnded ? (ended_at ?? now) : null;
}

const ending = ({ ended }: Binding) => ({ state: ended!.reason, ended_at: ended!.at });

/**
 * What a command does to `life`, and what its answer must be.
 * @param seen what the service answered: it alone names what is new, and tells whether a session was gone already
 */
export function step(life: Life, command: Command, seen?: Said): Said {
  const { now } = life;
  if (command.do === 'move') {
    life.now += command.seconds * 1000;
    return { says: 'moved' };
  }
  if (command.do === 'restart') {
    // A start begins with what the night would have done.
    for (const rule of ['activation', 'license'] as const) forget(life, rule);
    return { says: 'restarted' };
  }
  if (command.do === 'night') {
    forget(life, command.rule);
    return { says: 'over' };
  }
  if (command.do === 'erase') {
    life.erased.push(command.email);
    for (const license of life.licenses.filter(({ email }) => email === command.email)) {
      license.email = null;
      for (const binding of license.bindings) {
        end(binding, now, 'released');
        Object.assign(binding, { machine: '', hostname_hint: null, requests: [] });
      }
      noteEnd(license, now);
    }
    return { says: '200', state: 'honoured' };
  }
  const license = life.licenses[command.of]!;
  const binding = 'binding' in command ? license.bindings.find(({ id }) => id === command.binding)! : null;
  if (binding === undefined)
    return command.do === 'heartbeat'
      ? refused('token_invalid', 403, 'reactivate')
      : refused('not_found', 404, 'fix');
  const open = binding?.requests.find(({ decision }) => decision === null);
  switch (command.do) {
    case 'issue':
      Object.assign(license, { email: command.email, is_issued: true, ...command.terms });
      return { says: '201' };
    case 'report':
      license.reports!.push(command.status);
      if (command.status === 'paid' && !license.is_issued)
        Object.assign(license, { email: command.email, is_issued: true });
      if (command.status === 'refunded') for (const each of license.bindings) end(each, now, 'refunded');
      noteEnd(license, now);
      return { says: '204' };
    case 'activate': {
      const { do: _, of: _of, generation, email, ...asked } = command;
      if (generation !== license.generation || email !== license.email)
        return refused('license_not_found', 404);
      const no = refusal(license, null, asked.app_version, now);
      if (no) return no;
      const { machines_allowed, expires_at } = license;
      const taken = activeOf(license).find(({ machine }) => machine === asked.machine);
      const machines_in_use = activeOf(license).length + (taken ? 0 : 1);
      if (machines_in_use > machines_allowed && !taken)
        return {
          ...refused('machine_limit_reached', 409),
          machines_allowed,
          machines_in_use: machines_in_use - 1,
        };
      const id = seen?.binding ?? '?';
      const fresh = { id, ...asked, activated_at: now, ended: null, by_holder: false, requests: [] };
      if (!taken) license.bindings.push(fresh);
      const seat = taken ?? fresh;
      // Its first answer was lost: now it is told.
      if (seat.id === '?') seat.id = id;
      const { hostname_hint, activated_at } = seat;
      const facts = { hostname_hint, activated_at, machines_allowed, machines_in_use, expires_at };
      return { says: taken ? '200' : '201', binding: seat.id, ...facts };
    }
    case 'heartbeat': {
      const no = refusal(license, binding, command.app_version, now);
      const facts = { binding: binding!.id, expires_at: license.expires_at, telemetry: command.telemetry };
      return no ?? { says: '200', ...facts };
    }
    case 'release':
      if (!binding!.ended && open) Object.assign(open, { decision: 'release', decided_at: now });
      end(binding!, now, 'released');
      return { says: '200', ...ending(binding!) };
    case 'self-release':
    case 'ask':
      // An erasure at the same moment ends the session, before the command is looked at or after.
      if (seen && life.erased.includes(command.email) && /^40[14]/.test(seen.says)) return seen;
      if (license.email !== command.email) return refused('not_found', 404, 'fix');
      if (command.do === 'ask') {
        if (!binding!.ended && !open) binding!.requests.push({ at: now, decision: null, decided_at: null });
        return { says: '202' };
      }
      if (!binding!.ended) {
        if (selfReleasesLeft(license, now) <= 0) return refused('release_needs_support', 403, 'fix');
        end(binding!, now, 'released');
        binding!.by_holder = true;
        binding!.requests = binding!.requests.filter((each) => each !== open);
      }
      return { says: '200', ...ending(binding!) };
    case 'decide': {
      const request = binding!.requests[command.nth];
      if (!request) return refused('not_found', 404, 'fix');
      if (request.decision === null) {
        Object.assign(request, { decision: command.decision, decided_at: now });
        if (command.decision === 'release') end(binding!, now, 'released');
      }
      return { says: '200', decision: request.decision, decided_at: request.decided_at };
    }
    case 'change':
      if (license.is_gone) return refused('not_found', 404, 'fix');
      if (command.terms.email !== undefined && license.email === null)
        return refused('license_erased', 409, 'fix');
      Object.assign(license, command.terms);
      noteEnd(license, now);
      return { says: '200' };
    case 'rekey':
      if (license.is_gone) return refused('not_found', 404, 'fix');
      if (license.email === null || statusOf(license) === 'refunded')
        return refused('key_not_mailable', 409, 'fix');
      license.generation += 1;
      return { says: '202' };
  }
}
