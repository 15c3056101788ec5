import type { Status } from '../../client/src/client.js';
import { HOUR, MINUTE } from './harness.js';
import type { Path } from './misbehaving-service.js';
import type { Attempt } from './socket-computer.js';

/** One run of the application, from its start to its end. */
export interface Run {
  /** The start by the monotonic clock. */
  start: number;
  /** The start by the monotonic clock, without the time during which the computer slept. */
  startAwake: number;
  /** The end by the same clock as `startAwake`. */
  endAwake: number;
  appVersion: string;
  isTelemetryOff: boolean;
  /** Whether the application may need the network to start. */
  mayNeedNetwork: boolean;
  /** Whether the client must send a heartbeat at the start, before the application runs. */
  mustCallService: boolean;
  attempts: Attempt[];
  states: Status[];
  log: string[];
}

const SECOND = 1000;
/** A call, and the call that its response may request, each time out after 10 seconds; 5 seconds are a margin. */
const CALLS_TIMEOUT_MS = 25 * SECOND;

/** Finds the guarantees of the client that a run violated. @returns one sentence for each */
export function findViolations(run: Run): string[] {
  const calls = run.attempts.filter(({ path }) => path !== '/v1/manifest');
  const heartbeats = calls.filter(({ path }) => path === '/v1/heartbeat');
  const manifests = run.attempts.filter(({ path }) => path === '/v1/manifest');
  return [
    ...checkStatuses(run),
    ...checkStart(run, heartbeats),
    ...heartbeats
      .slice(1)
      .flatMap((call, i) => [
        ...checkPace(heartbeats[i]!, findScheduling(calls.slice(0, calls.indexOf(call))), call),
      ]),
    ...checkPauses(run),
    ...checkDailyManifest(run, manifests),
    ...calls.flatMap((call, i) => [...checkActivation(call, calls.slice(0, i))]),
    ...run.attempts.flatMap((call) => [...checkMembers(run, call)]),
    ...checkLog(run, heartbeats),
  ];
}

function* checkStatuses({ states, mayNeedNetwork }: Run): Generator<string> {
  const kinds = states.map(({ kind }) => kind);
  if (kinds.includes('stopped')) yield `stopped: ${JSON.stringify(states)}`;
  if (kinds.includes('not_activated')) yield 'it lost its license';
  const ran = kinds.indexOf('running');
  if (ran >= 0 && kinds.slice(ran).some((kind) => kind !== 'running'))
    yield `interrupted while it ran: ${kinds.join(' ')}`;
  if (kinds[0] !== 'running' && !mayNeedNetwork) yield `it needed the network too early: ${kinds.join(' ')}`;
}

function* checkStart({ start, mustCallService }: Run, heartbeats: Attempt[]): Generator<string> {
  const first = heartbeats[0];
  const isEarlyAllowed = first?.isUserInitiated || first?.status === 'needs_network';
  if (first && !isEarlyAllowed && first.when - start < 2 * MINUTE)
    yield 'a heartbeat within two minutes of the start';
  if (mustCallService && heartbeats[0]?.when !== start)
    yield 'a restart after seven days sent no heartbeat at once';
}

/**
 * Finds the last call that set the time of the next heartbeat: a heartbeat, an activation that the service requested, or another
 * activation that was confirmed.
 */
function findScheduling(calls: readonly Attempt[]): Attempt {
  return calls.findLast(
    (call, i) =>
      call.path === '/v1/heartbeat' || call.received?.isConfirmed || isRequested(call, calls[i - 1]),
  )!;
}

/**
 * Checks that two consecutive heartbeats are at least five hours apart, unless the user or the service asked for an earlier one.
 * While the application waits for the network, 30 seconds are enough.
 * @param scheduling the call that set the time of the second heartbeat: the first heartbeat, or an activation
 */
function* checkPace(previousHeartbeat: Attempt, scheduling: Attempt, heartbeat: Attempt): Generator<string> {
  const gap = heartbeat.when - previousHeartbeat.when;
  if (heartbeat.isUserInitiated || gap > 5 * HOUR) return;
  const { action, body } = previousHeartbeat.received ?? {};
  // After a problem with the action `fix`, the client repeats the heartbeat at once, without telemetry.
  const isRepetition = action === 'fix' && body!['telemetry'] && !heartbeat.received?.body?.['telemetry'];
  if (isRepetition && gap <= CALLS_TIMEOUT_MS) return;
  const retry_after_seconds = scheduling.received?.retry_after_seconds;
  if (heartbeat.status === 'needs_network') {
    if (gap < 30 * SECOND) yield `repeated a call after ${gap} ms while it waited for the network`;
  } else if (retry_after_seconds === undefined) yield `two heartbeats within ${gap} ms, without a reason`;
  const least = Math.min(Math.max(retry_after_seconds ?? 0, 30), 6 * 3600) * SECOND;
  if (gap < least)
    yield `a retry-after of ${retry_after_seconds} s was not observed: the next call came after ${gap} ms`;
}

/** Checks that a running application sends heartbeats: the license check cannot be switched off. */
function* checkPauses(run: Run): Generator<string> {
  const calls = run.attempts.filter(
    ({ path, received }) => path === '/v1/heartbeat' || (path === '/v1/activate' && received?.isConfirmed),
  );
  const times = [run.startAwake, ...calls.map(({ awake }) => awake), run.endAwake];
  const longest = Math.max(...times.slice(1).map((time, i) => time - times[i]!));
  // The client limits the requested interval to 12 hours, and adds at most 5 %.
  if (longest > 12.6 * HOUR + CALLS_TIMEOUT_MS) yield `no heartbeat for ${longest / HOUR} hours`;
}

function* checkDailyManifest(run: Run, manifests: Attempt[]): Generator<string> {
  const daily = manifests.filter(({ isUserInitiated }) => !isUserInitiated);
  const first = daily[0];
  if (first && first.when - run.start < 2 * MINUTE) yield 'the manifest read within two minutes of the start';
  if (!first && run.endAwake - run.startAwake > 20 * MINUTE) yield 'no manifest read after the start';
  const times = [...daily.map(({ awake }) => awake), run.endAwake];
  for (const [i, time] of times.slice(1).entries())
    if (time - times[i]! > 25 * HOUR) yield `no manifest read for ${(time - times[i]!) / HOUR} hours`;
  for (const [i, { when }] of daily.slice(1).entries())
    if (when - daily[i]!.when < 23 * HOUR - CALLS_TIMEOUT_MS) yield 'the manifest read twice a day';
}

/**
 * Checks that the client activates only after a click, or when the service has just asked for it. An activation that the
 * machine limit refused is repeated for ten minutes.
 */
function* checkActivation(call: Attempt, earlier: readonly Attempt[]): Generator<string> {
  if (call.path !== '/v1/activate' || call.isUserInitiated) return;
  if (isRequested(call, earlier.at(-1)) || isRepetitionOfClick(call, earlier)) return;
  yield `an activation that was not asked for, at ${call.when}`;
}

function isRequested(call: Attempt, before: Attempt | undefined): boolean {
  return before?.received?.action === 'reactivate' && call.when - before.when <= CALLS_TIMEOUT_MS;
}

/**
 * Whether the client repeats the activation of the last click, which the machine limit refused. Later activations that the answer
 * to a heartbeat requested do not count: they neither begin nor delay the repetitions.
 */
function isRepetitionOfClick(call: Attempt, earlier: readonly Attempt[]): boolean {
  const clickIndex = earlier.findLastIndex(
    ({ path, isUserInitiated }) => path === call.path && isUserInitiated,
  );
  if (clickIndex < 0) return false;
  const sinceClick = earlier.slice(clickIndex);
  const click = sinceClick[0]!;
  if (click.received?.code !== 'machine_limit_reached') return false;
  const repeated = sinceClick.filter(
    (attempt, i) => attempt.path === call.path && !isRequested(attempt, sinceClick[i - 1]),
  );
  return (
    call.when - click.when <= 10 * MINUTE &&
    call.when - repeated.at(-1)!.when >= 5 * SECOND &&
    !repeated.some(({ received }) => received?.isConfirmed)
  );
}

const MEMBERS: Record<Path, string[]> = {
  '/v1/activate': ['license_key', 'email', 'machine_id', 'hostname_hint', 'app_version'],
  '/v1/heartbeat': ['token', 'app_version', 'telemetry'],
  '/v1/manifest': [],
};
export const TELEMETRY = ['app_version', 'arch', 'camera_count', 'crash_kind', 'crash_label'];
/** The headers that a request may have. */
const HEADERS = 'accept connection host user-agent content-length content-type';

/** Checks that a request has only the members and headers that the test expects. */
function* checkMembers(run: Run, { path, received }: Attempt): Generator<string> {
  if (!received) return;
  const { url, headers, body = {}, raw, method } = received;
  const telemetry = body['telemetry'] as object | undefined;
  const allowed = (path === '/v1/manifest' ? `${HEADERS} if-none-match` : HEADERS).split(' ');
  const unexpected = [
    ...Object.keys(body).filter((name) => !MEMBERS[path].includes(name)),
    ...Object.keys(telemetry ?? {}).filter((name) => !TELEMETRY.includes(name)),
    ...Object.keys(headers).filter((name) => !allowed.includes(name)),
  ];
  if (unexpected.length > 0 || url !== path) yield `sent ${unexpected.join()} to ${url}`;
  if (path === '/v1/manifest' && (method !== 'GET' || raw !== '')) yield 'sent a body to the manifest';
  if (path !== '/v1/manifest' && body['app_version'] !== run.appVersion)
    yield 'sent another version than that of the run';
  if (run.isTelemetryOff && telemetry) yield 'telemetry after the opt-out';
}

function* checkLog({ isTelemetryOff, log }: Run, heartbeats: Attempt[]): Generator<string> {
  const sent = log.filter((line) => line.startsWith('heartbeat sent'));
  const off = sent.filter((line) => line === 'heartbeat sent (telemetry: off)').length;
  if (isTelemetryOff && off < sent.length)
    yield `the log reports telemetry after the opt-out: ${sent.join()}`;
  const confirmed = heartbeats.filter(({ received }) => received?.isConfirmed).length;
  if (sent.length < confirmed) yield 'the log does not contain all heartbeats';
}
