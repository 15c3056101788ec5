import fc from 'fast-check';
import {
  RESTRICTED_VERSION,
  UNRESTRICTED_VERSION,
  type Command,
  type ModelState,
  type Terms,
} from './license-model.js';

/*
 * A random scenario is a list of batches of command templates. Templates contain no ids, so that a scenario that fast-check
 * shrinks is still valid. When a template is executed, it becomes a command for the current state, or nothing.
 */

/** The kinds of templates, with their weights. */
const KIND_WEIGHTS = {
  activate: 14,
  heartbeat: 4,
  paid: 2,
  disputed: 1,
  dispute_won: 1,
  refunded: 1,
  release: 3,
  'self-release': 2,
  'request-release': 3,
  decide: 2,
  status: 3,
  machines: 5,
  expiry: 4,
  on_expiry: 2,
  email: 1,
  rekey: 1,
  erase: 1,
  'advance-clock': 3,
  'apply-retention': 2,
  'restart-instance': 1,
} as const;
type Kind = keyof typeof KIND_WEIGHTS;

export interface CommandTemplate {
  readonly kind: Kind;
  readonly licenseIndex: number;
  /** A random number that chooses among candidates, modulo their number. */
  readonly pick: number;
  /** A second random number, for the e-mail address and other choices. Most values choose the license's own address. */
  readonly secondPick: number;
  /** Whether the unusual variant is chosen, such as a restricted version, an older key, or an activation that has ended. */
  readonly isUnusual: boolean;
}

const weightedKinds = Object.entries(KIND_WEIGHTS).map(([kind, weight]) => ({
  kind,
  weight,
  arbitrary: fc.constant(kind as Kind),
}));
const template = (
  licenseIndex: fc.Arbitrary<number>,
  kind: fc.Arbitrary<Kind> = fc.oneof(...weightedKinds),
): fc.Arbitrary<CommandTemplate> =>
  fc.record({
    kind,
    licenseIndex,
    pick: fc.nat(999),
    secondPick: fc.nat(9),
    isUnusual: fc.integer({ min: 1, max: 5 }).map((n) => n === 5),
  });

const singleBatch = template(fc.nat(1)).map((only) => [only]);
// Concurrent commands are about the same license, except reports, which are about the second one, erasures, which are about an
// address, and retention runs, which are about all licenses.
const concurrentBatch = fc
  .nat(1)
  .chain((licenseIndex) =>
    fc.array(template(fc.constant(licenseIndex)), { minLength: 2, maxLength: 6, size: 'max' }),
  );
// A command that can restrict a license, concurrent with an activation and another command.
const restrictingBatch = fc.nat(1).chain((licenseIndex) => {
  const activation = template(fc.constant(licenseIndex), fc.constant('activate'));
  const restrictingKind = fc.constantFrom<Kind[]>(
    'refunded',
    'disputed',
    'status',
    'status',
    'erase',
    'machines',
    'expiry',
  );
  return fc.tuple(
    template(fc.constant(licenseIndex), restrictingKind),
    activation,
    template(fc.constant(licenseIndex)),
  );
});
// Most scenarios begin with both licenses and a few machines, so that more of the later commands have an effect. The first template
// issues the license (`resolveTemplate`).
const openingOf = (licenseIndex: number, first: Kind) =>
  [first, 'activate' as const, 'activate' as const].map((kind) =>
    template(fc.constant(licenseIndex), fc.constant(kind)),
  );
const openingTemplates = fc.tuple(...openingOf(0, 'activate'), ...openingOf(1, 'paid'));
const optionalOpening = fc.option(
  openingTemplates.map((all) => all.map((only) => [only])),
  { freq: 5, nil: [] },
);

// The last batches of a concurrent scenario make the second license valid, and then send its refund with two activations. The
// activations wait for the lock of the license behind the refund. A refund ends all earlier activations, so a machine that is
// active afterwards is an error in every order of the commands. With a suspension, for example, the order with the activation
// first would be valid.
const fixedTemplate = (kind: Kind, pick: number): fc.Arbitrary<CommandTemplate> =>
  fc.constant({ kind, licenseIndex: 1, pick, secondPick: 0, isUnusual: false });
const finalActivation = fc.nat(3).chain((machine) => fixedTemplate('activate', machine));
// The picks below choose the status `active`, no expiry and nine machines, and a refund that is not left out.
const refundBatches = fc.tuple(
  ...[
    fixedTemplate('paid', 1),
    fixedTemplate('dispute_won', 1),
    fixedTemplate('status', 0),
    fixedTemplate('expiry', 0),
    fixedTemplate('machines', 2),
  ].map((only) => fc.tuple(only)),
  fc.tuple(fixedTemplate('refunded', 1), finalActivation, finalActivation),
);

// Small values are not preferred, because short scenarios would test little and few scenarios are run.
const scenarioOf = (batch: fc.Arbitrary<CommandTemplate[]>, end: fc.Arbitrary<CommandTemplate[][]>) =>
  fc.noBias(
    fc
      .tuple(optionalOpening, fc.array(batch, { minLength: 1, maxLength: 50, size: 'max' }), end)
      .map(([first, rest, last]) => [...first, ...rest, ...last]),
  );
export const sequentialScenarios = scenarioOf(singleBatch, fc.constant([]));
export const concurrentScenarios = scenarioOf(
  fc.oneof(
    { weight: 5, arbitrary: singleBatch },
    { weight: 2, arbitrary: concurrentBatch },
    { weight: 2, arbitrary: restrictingBatch },
  ),
  refundBatches,
);

const EXPIRIES = [
  null,
  Date.parse('2026-11-21T13:00:00Z'),
  RESTRICTED_VERSION.minimumExpiry - 1000,
  RESTRICTED_VERSION.minimumExpiry,
  Date.parse('2027-06-01T00:00:00Z'),
];
const HOUR_S = 3600;
const DAY_S = 86_400;
/** Seconds by which the clock advances: less than and more than the validity of a token, and about a year. */
const ADVANCES_S = [HOUR_S, 8 * DAY_S, 365 * DAY_S, 366 * DAY_S];

/** What the commands so far have produced. */
interface Known {
  readonly state: ModelState;
  readonly holders: readonly string[];
  readonly tokens: ReadonlyMap<string, readonly string[]>;
}

const pickOf = <T>(all: readonly T[], pick: number): T => all[pick % all.length]!;

/** Makes a command from a template; undefined if there is nothing that the command could be about, or if it is left out. */
export function resolveTemplate(
  { kind, licenseIndex, pick, secondPick, isUnusual }: CommandTemplate,
  known: Known,
): Command | undefined {
  const { state, holders, tokens } = known;
  const license = state.licenses[licenseIndex]!;
  const email = secondPick < 8 && license.email ? license.email : pickOf(holders, secondPick);
  if (kind === 'advance-clock')
    return { type: 'advance-clock', seconds: pickAdvance(state, licenseIndex, pick) };
  // Only every third restart is executed, because each takes a second.
  if (kind === 'restart-instance') return pick % 3 === 0 ? { type: 'restart-instance' } : undefined;
  // A retention run applies every rule to every license, so the runner ignores this rule and index.
  if (kind === 'apply-retention')
    return { type: 'apply-retention', licenseIndex, rule: 'delete-activations' };
  // After a command that ends a license for good, the scenario tests little, so every second one is left out.
  if ((kind === 'erase' || kind === 'refunded') && pick % 2 === 0) return undefined;
  if (kind === 'erase') return { type: 'erase', email };
  if (kind === 'paid' || kind === 'disputed' || kind === 'dispute_won' || kind === 'refunded') {
    const { reports } = state.licenses[1]!;
    // The first report of most purchases is `paid`.
    const status = reports!.length === 0 && pick % 4 > 0 ? 'paid' : kind;
    return { type: 'report', licenseIndex: 1, email: pickOf(holders, secondPick), status };
  }
  if (!license.is_issued) {
    if (license.reports) return undefined;
    const terms = {
      machines_allowed: 1 + (pick % 3),
      expires_at: pickOf(EXPIRIES, pick),
    };
    return {
      type: 'issue',
      licenseIndex,
      email: pickOf(holders, secondPick),
      terms: { ...terms, on_expiry: isUnusual ? 'stop' : 'keep' },
    };
  }
  if (license.is_deleted) return undefined;
  const app_version = isUnusual ? RESTRICTED_VERSION.version : UNRESTRICTED_VERSION;
  const change = (terms: Terms): Command => ({ type: 'change-license', licenseIndex, terms });
  switch (kind) {
    case 'activate': {
      const hostname_hint = pickOf(['Studio', 'Office'], secondPick);
      const generation = isUnusual && license.generation > 1 ? license.generation - 1 : license.generation;
      const machine = `machine ${pick % 4}`;
      return { type: 'activate', licenseIndex, generation, email, machine, hostname_hint, app_version };
    }
    case 'status':
      return change({ staff_status: pickOf(['active', 'active', 'active', 'suspended', 'revoked'], pick) });
    case 'machines':
      return change({ machines_allowed: pickOf([1, 2, 9, 9], pick) });
    case 'expiry': {
      const expires_at = pickOf([...EXPIRIES, state.now, state.now, state.now + 1000], pick);
      return change({ expires_at, ...(secondPick % 2 === 1 && { on_expiry: 'stop' as const }) });
    }
    case 'on_expiry':
      return change({ on_expiry: pickOf(['keep', 'stop', 'stop'], pick) });
    case 'email':
      return change({ email: pickOf(holders, pick) });
    case 'rekey':
      return { type: 'rekey', licenseIndex };
  }
  const { activations } = license;
  if (activations.length === 0) return undefined;
  const active = activations.filter(({ ended }) => !ended);
  const { id: activationId, requests } = pickOf(
    isUnusual || active.length === 0 ? activations : active,
    pick,
  );
  switch (kind) {
    case 'heartbeat': {
      const issued = tokens.get(activationId);
      return (
        issued && {
          type: 'heartbeat',
          licenseIndex,
          activationId,
          app_version,
          token: pickOf(issued, secondPick),
          telemetry: pick % 2 === 0,
        }
      );
    }
    case 'decide': {
      if (requests.length === 0) return undefined;
      const decision = pickOf(['release', 'decline'], pick);
      return {
        type: 'decide',
        licenseIndex,
        activationId,
        requestIndex: isUnusual ? 0 : requests.length - 1,
        decision,
      };
    }
    case 'release':
      return { type: 'release', licenseIndex, activationId };
    case 'self-release':
    case 'request-release':
      return { type: kind, licenseIndex, activationId, email };
  }
}

/** Returns one of `ADVANCES_S`. If the license has a future expiry, the time until it and one second less are candidates too. */
function pickAdvance({ now, licenses }: ModelState, licenseIndex: number, pick: number): number {
  const left = ((licenses[licenseIndex]!.expires_at ?? 0) - now) / 1000;
  return pickOf(left > 1 ? [...ADVANCES_S, left, left - 1] : ADVANCES_S, pick);
}
