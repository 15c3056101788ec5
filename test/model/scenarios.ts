import fc from 'fast-check';
import { GUARDED, UNGUARDED, type Command, type ModelState } from './license-model.js';

/*
 * A random scenario is a list of command templates without ids, so that a shrunk scenario is still valid. When a template is
 * executed, it becomes a command for the current state, or nothing.
 */

const KINDS = {
  activate: 14,
  heartbeat: 4,
  paid: 2,
  disputed: 1,
  dispute_won: 1,
  refunded: 1,
  release: 3,
  'self-release': 2,
  ask: 3,
  decide: 2,
  status: 3,
  machines: 5,
  expiry: 4,
  on_expiry: 2,
  email: 1,
  rekey: 1,
  erase: 1,
  move: 3,
  night: 2,
  restart: 1,
} as const;
type Kind = keyof typeof KINDS;

export interface CommandTemplate {
  readonly kind: Kind;
  readonly of: number;
  /** The index of the choice, modulo the number of candidates. */
  readonly pick: number;
  /** The index of the e-mail address: mostly the license's own. */
  readonly whose: number;
  /** Whether the unusual variant is chosen: a guarded version, an older key. */
  readonly odd: boolean;
}

const weighted = Object.entries(KINDS).map(([kind, weight]) => ({
  kind,
  weight,
  arbitrary: fc.constant(kind as Kind),
}));
const template = (
  of: fc.Arbitrary<number>,
  kind: fc.Arbitrary<Kind> = fc.oneof(...weighted),
): fc.Arbitrary<CommandTemplate> =>
  fc.record({
    kind,
    of,
    pick: fc.nat(999),
    whose: fc.nat(9),
    odd: fc.integer({ min: 1, max: 5 }).map((n) => n === 5),
  });

const one = template(fc.nat(1)).map((only) => [only]);
// Concurrent commands are about one license.
const several = fc
  .nat(1)
  .chain((of) => fc.array(template(fc.constant(of)), { minLength: 2, maxLength: 6, size: 'max' }));
// A command that restricts a license, concurrent with an activation.
const rivals = fc.nat(1).chain((of) => {
  const taker = template(fc.constant(of), fc.constant('activate'));
  const taking = fc.constantFrom<Kind[]>(
    'refunded',
    'disputed',
    'status',
    'status',
    'erase',
    'machines',
    'expiry',
  );
  return fc.tuple(template(fc.constant(of), taking), taker, template(fc.constant(of)));
});
// Most scenarios begin with both licenses and a few machines, which makes errors more likely.
const begun = (of: number, first: Kind) =>
  [first, 'activate' as const, 'activate' as const].map((kind) =>
    template(fc.constant(of), fc.constant(kind)),
  );
const opening = fc.tuple(...begun(0, 'activate'), ...begun(1, 'paid'));
const openings = fc.option(
  opening.map((all) => all.map((only) => [only])),
  { freq: 5, nil: [] },
);

// The riskiest last batch: activations of a valid license that wait for its refund. Any other refusal could be ordered after
// them, but a refund ends what they activated.
const surely = (kind: Kind, pick: number): fc.Arbitrary<CommandTemplate> =>
  fc.constant({ kind, of: 1, pick, whose: 0, odd: false });
const taker = fc.nat(3).chain((machine) => surely('activate', machine));
const refunding = fc.tuple(
  ...[
    surely('paid', 1),
    surely('dispute_won', 1),
    surely('status', 0),
    surely('expiry', 0),
    surely('machines', 2),
  ].map((only) => fc.tuple(only)),
  fc.tuple(surely('refunded', 1), taker, taker),
);

// Without bias to small values: a scenario of one day would test little, and few scenarios are run.
const scenarioOf = (bag: fc.Arbitrary<CommandTemplate[]>, end: fc.Arbitrary<CommandTemplate[][]>) =>
  fc.noBias(
    fc
      .tuple(openings, fc.array(bag, { minLength: 1, maxLength: 50, size: 'max' }), end)
      .map(([first, rest, last]) => [...first, ...rest, ...last]),
  );
export const inTurn = scenarioOf(one, fc.constant([]));
export const alsoAtOnce = scenarioOf(
  fc.oneof(
    { weight: 5, arbitrary: one },
    { weight: 2, arbitrary: several },
    { weight: 2, arbitrary: rivals },
  ),
  refunding,
);

const EXPIRIES = [
  null,
  Date.parse('2026-11-21T13:00:00Z'),
  GUARDED.minimum - 1000,
  GUARDED.minimum,
  Date.parse('2027-06-01T00:00:00Z'),
];
const HOUR = 3600;
const DAY = 86_400;
const MOVES = [HOUR, 8 * DAY, 365 * DAY, 366 * DAY];

interface Known {
  readonly state: ModelState;
  readonly holders: readonly string[];
  readonly tokens: ReadonlyMap<string, readonly string[]>;
}

const pickOf = <T>(all: readonly T[], pick: number): T => all[pick % all.length]!;

/** Makes a command from a template; undefined if nothing exists that it could be about. */
export function resolve({ kind, of, pick, whose, odd }: CommandTemplate, known: Known): Command | undefined {
  const { state, holders, tokens } = known;
  const license = state.licenses[of]!;
  const email = whose < 8 && license.email ? license.email : pickOf(holders, whose);
  if (kind === 'move') return { do: 'move', seconds: seconds(state, of, pick) };
  // A start takes a second.
  if (kind === 'restart') return pick % 3 === 0 ? { do: 'restart' } : undefined;
  if (kind === 'night') return { do: 'night', of, rule: 'activation' };
  // A command that ends a license for good shortens the scenario: only some of those templates are run.
  if ((kind === 'erase' || kind === 'refunded') && pick % 2 === 0) return undefined;
  if (kind === 'erase') return { do: 'erase', email };
  if (kind === 'paid' || kind === 'disputed' || kind === 'dispute_won' || kind === 'refunded') {
    const { reports } = state.licenses[1]!;
    // The first report of most purchases is `paid`.
    const status = reports!.length === 0 && pick % 4 > 0 ? 'paid' : kind;
    return { do: 'report', of: 1, email: pickOf(holders, whose), status };
  }
  if (!license.is_issued) {
    if (license.reports) return undefined;
    const terms = {
      machines_allowed: 1 + (pick % 3),
      expires_at: pickOf(EXPIRIES, pick),
    };
    return {
      do: 'issue',
      of,
      email: pickOf(holders, whose),
      terms: { ...terms, on_expiry: odd ? 'stop' : 'keep' },
    };
  }
  if (license.is_gone) return undefined;
  const app_version = odd ? GUARDED.version : UNGUARDED;
  switch (kind) {
    case 'activate': {
      const hostname_hint = pickOf(['Studio', 'Office'], whose);
      const generation = odd && license.generation > 1 ? license.generation - 1 : license.generation;
      const machine = `machine ${pick % 4}`;
      return {
        do: 'activate',
        of,
        generation,
        email,
        machine,
        hostname_hint,
        app_version,
      };
    }
    case 'status': {
      const staff_status = pickOf(['active', 'active', 'active', 'suspended', 'revoked'] as const, pick);
      return { do: 'change', of, terms: { staff_status } };
    }
    case 'machines':
      return {
        do: 'change',
        of,
        terms: { machines_allowed: pickOf([1, 2, 9, 9], pick) },
      };
    case 'expiry': {
      const expires_at = pickOf([...EXPIRIES, state.now, state.now, state.now + 1000], pick);
      return {
        do: 'change',
        of,
        terms: {
          expires_at,
          ...(whose % 2 === 1 && { on_expiry: 'stop' as const }),
        },
      };
    }
    case 'on_expiry':
      return {
        do: 'change',
        of,
        terms: { on_expiry: pickOf(['keep', 'stop', 'stop'] as const, pick) },
      };
    case 'email':
      return { do: 'change', of, terms: { email: pickOf(holders, pick) } };
    case 'rekey':
      return { do: 'rekey', of };
  }
  const { bindings } = license;
  if (bindings.length === 0) return undefined;
  const active = bindings.filter(({ ended }) => !ended);
  const { id: binding, requests } = pickOf(odd || active.length === 0 ? bindings : active, pick);
  switch (kind) {
    case 'heartbeat': {
      const given = tokens.get(binding);
      return (
        given && {
          do: 'heartbeat',
          of,
          binding,
          app_version,
          token: pickOf(given, whose),
          telemetry: pick % 2 === 0,
        }
      );
    }
    case 'decide': {
      if (requests.length === 0) return undefined;
      const decision = pickOf(['release', 'decline'], pick);
      return {
        do: 'decide',
        of,
        binding,
        nth: (requests.length - 1) * Number(!odd),
        decision,
      };
    }
    case 'release':
      return { do: 'release', of, binding };
    case 'self-release':
    case 'ask':
      return { do: kind, of, binding, email };
  }
}

/** Seconds until the expiry or the second before it, if it is in the future; otherwise an hour, days or a year. */
function seconds({ now, licenses }: ModelState, of: number, pick: number): number {
  const left = ((licenses[of]!.expires_at ?? 0) - now) / 1000;
  return pickOf(left > 1 ? [...MOVES, left, left - 1] : MOVES, pick);
}
