import { Random } from '../../client/random.js';
import type { OnExpiry } from '../../../src/core/config.js';

/*
 * Plans from a seed the operations of the clients of one license, as templates without ids. The activation of a template is
 * chosen when it is executed, from the ones that the clients know at that time.
 */

const KIND_WEIGHTS = {
  activate: 12,
  heartbeat: 8,
  release: 4,
  'self-release': 3,
  ask: 1,
  rekey: 1,
  machines: 3,
  status: 3,
  expiry: 2,
  on_expiry: 1,
  erase: 0.3,
} as const;
/** Additional kinds for a sold license: the reports of the payment processor. */
const REPORTS = { paid: 2, disputed: 1, dispute_won: 1, refunded: 0.7 } as const;
export type Kind = keyof typeof KIND_WEIGHTS | keyof typeof REPORTS;

export interface CommandTemplate {
  readonly kind: Kind;
  /** The index of the choice among the candidates at the time of execution. */
  readonly pick: number;
  /** Whether the unusual variant is chosen: a replaced key, an activation that has ended. */
  readonly odd: boolean;
  /** The index of the instance that is called if it is up. */
  readonly instance: number;
}

export interface Scenario {
  readonly seed: number;
  readonly isSold: boolean;
  readonly machines_allowed: number;
  readonly on_expiry: OnExpiry;
  /** Commands that run sequentially before the clients begin. */
  readonly prologue: readonly CommandTemplate[];
  /** The templates of each client, in order; the clients run at the same time. */
  readonly clients: readonly (readonly CommandTemplate[])[];
}

export interface ScenarioShape {
  readonly clients: number;
  /** Templates of each client. */
  readonly templates: number;
  /** By default the seed decides. */
  readonly isSold?: boolean;
  /** Weights that replace the default weights; 0 leaves a kind out. */
  readonly kinds?: Partial<Record<Kind, number>>;
}

/** Templates of these kinds alone. */
export function only(...kinds: readonly Kind[]): Partial<Record<Kind, number>> {
  const all = Object.keys({ ...KIND_WEIGHTS, ...REPORTS }) as Kind[];
  return Object.fromEntries(all.map((kind) => [kind, kinds.includes(kind) ? 1 : 0]));
}

/** The shape of the scenarios with faults. */
export const USUAL_SHAPE: ScenarioShape = { clients: 3, templates: 8 };

export function plan(seed: number, shape: ScenarioShape = USUAL_SHAPE): Scenario {
  const random = new Random(seed);
  // Without this, consecutive seeds would begin with similar numbers.
  for (let skipped = 0; skipped < 4; skipped += 1) random.unit();
  const isSold = random.chance(0.5);
  const planned = { ...shape, isSold: shape.isSold ?? isSold };
  const first = random.pick<Kind[]>([
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
    ...(planned.isSold ? first : []),
    ...random.pick<Kind[]>([[], ['activate'], ['activate', 'activate']]),
  ];
  return {
    seed,
    isSold: planned.isSold,
    machines_allowed: 1 + random.below(3),
    on_expiry: random.pick(['keep', 'stop', 'stop'] as const),
    prologue: opening.map((kind) => ({ ...template(random, planned), kind, odd: false })),
    clients: Array.from({ length: shape.clients }, () =>
      Array.from({ length: shape.templates }, () => template(random, planned)),
    ),
  };
}

function template(random: Random, { isSold, kinds = {} }: ScenarioShape): CommandTemplate {
  const weights = Object.entries({ ...KIND_WEIGHTS, ...(isSold && REPORTS), ...kinds }) as [Kind, number][];
  return {
    kind: weighted(random, weights),
    pick: random.below(1000),
    odd: random.chance(0.2),
    instance: random.below(2),
  };
}

function weighted(random: Random, weights: readonly (readonly [Kind, number])[]): Kind {
  let left = random.unit() * weights.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [kind, weight] of weights) {
    left -= weight;
    if (left < 0) return kind;
  }
  return weights[0]![0];
}
