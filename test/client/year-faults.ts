import { FIX_PROBLEMS, NO_ANSWERS, RETRY_PROBLEMS, WRONG_SHAPES, type Fault } from './faults.js';
import { at, DAY, START } from './harness.js';
import { PATHS, type MisbehavingService } from './misbehaving-service.js';
import { makeKey, manifest } from './publisher.js';
import type { Random } from './random.js';

/** The version of every invalid manifest, which must never be offered. */
export const INVALID_VERSION = '66.6.6';

const ALL_FAULTS: Fault[] = [NO_ANSWERS, WRONG_SHAPES, RETRY_PROBLEMS, FIX_PROBLEMS].flatMap((table) =>
  Object.values<Fault>(table),
);
const untrusted = makeKey();

type FaultAction = (service: MisbehavingService, random: Random) => unknown;

/** Makes invalid manifests, by the reason of the refusal. `seen` is the sequence of a valid manifest that the client has seen. */
const INVALID_MANIFESTS = {
  sequence_too_low: ({ key }) => manifest({ sequence: 0, version: INVALID_VERSION }, [key]),
  equivocation: ({ key }, seen) => manifest({ sequence: seen, version: INVALID_VERSION }, [key]),
  // It is expired also by a clock that is a year behind. Its sequence is new, because the client checks the sequence first.
  expired: (service) => {
    const [sequence, expires_at] = [++service.sequence, at(START - 366 * DAY)];
    return manifest({ sequence, version: INVALID_VERSION, expires_at }, [service.key]);
  },
  // Here and below the sequence is higher than the service's own, so that it is no reason for the refusal.
  wrong_product: ({ key, sequence }) =>
    manifest({ sequence: sequence + 9, version: INVALID_VERSION, product: 'com.example.other' }, [key]),
  // Signed by another key, under the key id of the trusted one.
  untrusted: ({ sequence, key }) =>
    manifest({ sequence: sequence + 9, version: INVALID_VERSION }, [{ ...untrusted, key_id: key.key_id }]),
} satisfies Record<string, (service: MisbehavingService, seen: number) => object>;
export const INVALID_REASONS = Object.keys(INVALID_MANIFESTS);

/**
 * The service no longer knows the token, and refuses the activation that the client then attempts without a click: the machine
 * limit is reached or the license unknown. Although these problems say `stop`, the
 * application must run until the end of the old token (docs/contract.md#no-false-stop).
 */
export const loseActivation: FaultAction = (service, random) => {
  service.forgetTokens();
  const [status, code] = random.pick([
    [409, 'machine_limit_reached'],
    [404, 'license_not_found'],
  ] as const);
  service.misbehave((exchange) => exchange.problem(status, code, 'stop'), ['/v1/activate']);
};

/** The service answers with the invalid manifests in turn. The client must have seen a valid one before. */
export const serveInvalidManifests: FaultAction = (service) => {
  const { sequence: seen } = service;
  const makers = Object.values(INVALID_MANIFESTS);
  let reads = 0;
  service.misbehave(
    (exchange) => exchange.json(200, makers[reads++ % makers.length]!(service, seen)),
    ['/v1/manifest'],
  );
};

/** Faults that the service or an intermediary can have for a while. */
export const FAULT_ACTIONS: readonly FaultAction[] = [
  // The same fault for all calls.
  (service, random) => service.misbehave(random.pick(ALL_FAULTS)),
  // A fault for the calls of one path.
  (service, random) => service.misbehave(random.pick(ALL_FAULTS), [random.pick(PATHS)]),
  // A random fault for each call.
  (service, random) => service.misbehave((exchange) => random.pick(ALL_FAULTS)(exchange)),
  // A random fault for half of the calls.
  (service, random) =>
    service.misbehave((exchange) =>
      random.chance(0.5) ? service.answer(exchange) : random.pick(ALL_FAULTS)(exchange),
    ),
  // Each connection is refused.
  (service) => service.refuse(),
  (service, random) => (service.clockErrorMs = random.between(-365, 365) * DAY),
  // An unusual or invalid interval.
  (service, random) => (service.heartbeat_after_seconds = random.pick([0, -1, 1, 1e12, 'soon', null])),
  loseActivation,
  (service) => service.forgetTokens(),
  // The tokens are lost before three of ten heartbeats.
  (service, random) =>
    service.misbehave(
      (exchange) => {
        if (random.chance(0.3)) service.forgetTokens();
        service.answer(exchange);
      },
      ['/v1/heartbeat'],
    ),
  serveInvalidManifests,
];
