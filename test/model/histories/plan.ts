import { Random } from '../../client/random.js';
import type { OnExpiry } from '../../../src/core/config.js';

/*
 * Plans from a seed the operations of the clients of one license, as templates without ids. The activation of a template is
 * chosen when the template is executed, from the ones that the clients know at that time.
 */

/** The kinds of commands, with their weights. */
const KIND_WEIGHTS = {
  activate: 12,
  heartbeat: 8,
  release: 4,
  'self-release': 3,
  'request-release': 1,
  rekey: 1,
  machines: 3,
  status: 3,
  expiry: 2,
  on_expiry: 1,
  erase: 0.3,
} as const;
/** Additional kinds for a license that was bought: the reports of the payment processor. */
const REPORT_WEIGHTS = { paid: 2, disputed: 1, dispute_won: 1, refunded: 0.7 } as const;
export type Kind = keyof typeof KIND_WEIGHTS | keyof typeof REPORT_WEIGHTS;

export interface CommandTemplate {
  readonly kind: Kind;
  /** A random number that chooses among the candidates at the time of execution, modulo their number. */
  readonly pick: number;
  /** Whether the unusual variant is chosen: a replaced key, an activation that has ended. */
  readonly isUnusual: boolean;
  /** The index of the instance that is called, unless it is down. */
  readonly instance: number;
}

export interface Scenario {
  readonly seed: number;
  /** Whether the payment processor reports the purchase of the license; otherwise staff issue it. */
  readonly isSold: boolean;
  readonly machines_allowed: number;
  readonly on_expiry: OnExpiry;
  /** Commands that run sequentially before the clients begin. */
  readonly prologue: readonly CommandTemplate[];
  /** The templates of each client, which sends them in order; the clients run at the same time. */
  readonly clients: readonly (readonly CommandTemplate[])[];
}

export interface ScenarioShape {
  readonly clients: number;
  /** The number of templates of each client. */
  readonly templates: number;
  /** Whether the license is bought; by default the seed decides. */
  readonly isSold?: boolean;
  /** Weights that replace the default weights; 0 leaves a kind out. */
  readonly kinds?: Partial<Record<Kind, number>>;
}

/** Weights with which the clients send commands of these kinds only; the prologue may have others. */
export function onlyKinds(...kinds: readonly Kind[]): Partial<Record<Kind, number>> {
  const all = Object.keys({ ...KIND_WEIGHTS, ...REPORT_WEIGHTS }) as Kind[];
  return Object.fromEntries(all.map((kind) => [kind, kinds.includes(kind) ? 1 : 0]));
}

/** The shape of the scenarios with faults. */
const DEFAULT_SHAPE: ScenarioShape = { clients: 3, templates: 8 };

export function plan(seed: number, shape: ScenarioShape = DEFAULT_SHAPE): Scenario {
  const random = new Random(seed);
  // The first numbers are skipped, because they are similar for consecutive seeds.
  for (let skipped = 0; skipped < 4; skipped += 1) random.unit();
  const isSold = random.chance(0.5);
  const completeShape = { ...shape, isSold: shape.isSold ?? isSold };
  const firstReports = random.pick<Kind[]>([
    ['paid'],
    ['paid'],
    ['paid'],
    ['paid'],
    ['paid'],
    ['refunded'],
    ['disputed'],
    [],
  ]);
  const opening = [
    ...(completeShape.isSold ? firstReports : []),
    ...random.pick<Kind[]>([[], ['activate'], ['activate', 'activate']]),
  ];
  return {
    seed,
    isSold: completeShape.isSold,
    machines_allowed: 1 + random.below(3),
    on_expiry: random.pick(['keep', 'stop', 'stop'] as const),
    prologue: opening.map((kind) => ({ ...template(random, completeShape), kind, isUnusual: false })),
    clients: Array.from({ length: shape.clients }, () =>
      Array.from({ length: shape.templates }, () => template(random, completeShape)),
    ),
  };
}

function template(random: Random, { isSold, kinds = {} }: ScenarioShape): CommandTemplate {
  const weights = Object.entries({ ...KIND_WEIGHTS, ...(isSold && REPORT_WEIGHTS), ...kinds }) as [
    Kind,
    number,
  ][];
  return {
    kind: pickWeighted(random, weights),
    pick: random.below(1000),
    isUnusual: random.chance(0.2),
    instance: random.below(2),
  };
}

function pickWeighted(random: Random, weights: readonly (readonly [Kind, number])[]): Kind {
  let left = random.unit() * weights.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [kind, weight] of weights) {
    left -= weight;
    if (left < 0) return kind;
  }
  return weights[0]![0];
}
