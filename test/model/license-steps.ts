import {
  activeOf,
  changeEnd,
  end,
  forget,
  NIGHT,
  refusal,
  refused,
  selfReleasesLeft,
  statusOf,
  type Binding,
  type Command,
  type License,
  type ModelState,
  type Outcome,
} from './license-model.js';

type Of<Name extends Command['do']> = Extract<Command, { do: Name }>;

/** What a command meets that names a license. */
interface Scene {
  readonly state: ModelState;
  readonly now: number;
  readonly license: License;
  readonly seen: Outcome | undefined;
}

/**
 * Applies a command to the state. @returns the response that the service must give
 * @param seen the response of the service: the ids of new objects, and whether a session had ended, are known from it only
 */
export function step(state: ModelState, command: Command, seen?: Outcome): Outcome {
  switch (command.do) {
    case 'move':
      return move(state, command);
    case 'restart':
      return restart(state);
    case 'erase':
      return erase(state, command);
  }
  const scene = { state, now: state.now, license: state.licenses[command.of]!, seen };
  return 'binding' in command ? stepOfBinding(scene, command) : stepOfLicense(scene, command);
}

function stepOfLicense(
  scene: Scene,
  command: Of<'issue' | 'report' | 'activate' | 'change' | 'rekey' | 'night'>,
): Outcome {
  switch (command.do) {
    case 'issue':
      return issue(scene, command);
    case 'report':
      return report(scene, command);
    case 'activate':
      return activate(scene, command);
    case 'change':
      return change(scene, command);
    case 'rekey':
      return rekey(scene);
    case 'night':
      return night(scene, command);
  }
}

function stepOfBinding(scene: Scene, command: Extract<Command, { binding: string }>): Outcome {
  const binding = scene.license.bindings.find(({ id }) => id === command.binding);
  if (command.do === 'heartbeat')
    return binding ? heartbeat(scene, command, binding) : refused('token_invalid', 403, 'reactivate');
  if (!binding) return refused('not_found', 404, 'fix');
  switch (command.do) {
    case 'release':
      return release(scene, binding);
    case 'self-release':
      return selfRelease(scene, command, binding);
    case 'ask':
      return ask(scene, command, binding);
    case 'decide':
      return decide(scene, command, binding);
  }
}

function move(state: ModelState, { seconds }: Of<'move'>): Outcome {
  state.now += seconds * 1000;
  return { says: 'moved' };
}

function restart(state: ModelState): Outcome {
  // At its start a service does the work of the nightly run.
  for (const license of state.licenses) for (const rule of NIGHT) forget(state, license, rule);
  return { says: 'restarted' };
}

function night({ state, license }: Scene, { rule }: Of<'night'>): Outcome {
  forget(state, license, rule);
  return { says: 'over' };
}

function erase(state: ModelState, { email }: Of<'erase'>): Outcome {
  state.erased.push(email);
  for (const license of state.licenses.filter((each) => each.email === email)) {
    changeEnd(license, state.now, () => (license.email = null));
    for (const binding of license.bindings) {
      end(binding, state.now, 'released');
      Object.assign(binding, { machine: '', hostname_hint: null, requests: [] });
    }
  }
  return { says: '200', state: 'honoured' };
}

function issue({ license, now }: Scene, { email, terms }: Of<'issue'>): Outcome {
  changeEnd(license, now, () => Object.assign(license, { email, is_issued: true, ...terms }));
  return { says: '201' };
}

function report({ license, now }: Scene, { email, status }: Of<'report'>): Outcome {
  changeEnd(license, now, () => {
    license.reports!.push(status);
    if (status === 'paid' && !license.is_issued) Object.assign(license, { email, is_issued: true });
  });
  if (status === 'refunded') for (const each of license.bindings) end(each, now, 'refunded');
  return { says: '204' };
}

function activate({ license, now, seen }: Scene, command: Of<'activate'>): Outcome {
  const { machine, hostname_hint, app_version } = command;
  if (!isKnown(license, command)) return refused('license_not_found', 404);
  const no = refusal(license, null, app_version, now);
  if (no) return no;
  const { machines_allowed, expires_at } = license;
  const taken = activeOf(license).find((each) => each.machine === machine);
  const others = activeOf(license).length - (taken ? 1 : 0);
  if (!taken && others >= machines_allowed)
    return { ...refused('machine_limit_reached', 409), machines_allowed, machines_in_use: others };
  const id = seen?.binding ?? '?';
  const asked = { machine, hostname_hint, app_version };
  const seat = taken ?? { id, ...asked, activated_at: now, ended: null, by_holder: false, requests: [] };
  if (!taken) license.bindings.push(seat);
  // The response to the first attempt was lost. The repeated one gets a response.
  if (seat.id === '?') seat.id = id;
  const { activated_at } = seat;
  const facts = { activated_at, machines_allowed, machines_in_use: others + 1, expires_at };
  return { says: taken ? '200' : '201', binding: seat.id, hostname_hint: seat.hostname_hint, ...facts };
}

/** Finds a license by key and address. An active machine is also found by those it activated with (docs/decisions/0028). */
function isKnown(license: License, { generation, email, machine }: Of<'activate'>): boolean {
  const isItsKey = generation === license.generation;
  const isItsEmail = email === license.email;
  if (isItsKey && isItsEmail) return true;
  const own = activeOf(license).find((each) => each.machine === machine);
  if (!own) return false;
  const isKeyKnown = isItsKey || (license.replaced_at[generation - 1] ?? 0) >= own.activated_at;
  return isKeyKnown && (isItsEmail || (license.email_since ?? 0) >= own.activated_at);
}

/** Whether staff do not find the license, because it is not issued yet or none of its rows is left. */
const isUnknown = ({ is_issued, is_gone }: License): boolean => !is_issued || is_gone;

/** The time of a change. It is not before an existing activation, even if the clocks of two instances differ. */
const afterActivations = ({ bindings }: License, now: number): number =>
  Math.max(now, ...bindings.map(({ activated_at }) => activated_at));

function change({ license, now }: Scene, { terms }: Of<'change'>): Outcome {
  if (isUnknown(license)) return refused('not_found', 404, 'fix');
  if (terms.email !== undefined && license.email === null) return refused('license_erased', 409, 'fix');
  const isPassedOn = terms.email !== undefined && terms.email !== license.email;
  changeEnd(license, now, () => Object.assign(license, terms));
  if (isPassedOn) passOn(license, now);
  return { says: '200' };
}

/** Removes the data of the former holder: labels of ended activations, and open requests. */
function passOn(license: License, now: number): void {
  license.email_since = afterActivations(license, now);
  for (const binding of license.bindings) {
    if (binding.ended) binding.hostname_hint = null;
    binding.requests = binding.requests.filter(({ decision }) => decision !== null);
  }
}

function rekey({ license, now }: Scene): Outcome {
  if (isUnknown(license)) return refused('not_found', 404, 'fix');
  if (license.email === null || ['refunded', 'revoked'].includes(statusOf(license)))
    return refused('key_not_mailable', 409, 'fix');
  license.generation += 1;
  license.replaced_at.push(afterActivations(license, now));
  return { says: '202' };
}

function heartbeat(
  { license, now }: Scene,
  { app_version, telemetry }: Of<'heartbeat'>,
  binding: Binding,
): Outcome {
  const facts = { binding: binding.id, expires_at: license.expires_at, telemetry };
  return refusal(license, binding, app_version, now) ?? { says: '200', ...facts };
}

function release({ now }: Scene, binding: Binding): Outcome {
  const open = openOf(binding);
  if (!binding.ended && open) Object.assign(open, { decision: 'release', decided_at: now });
  return ended(binding, now);
}

function selfRelease(scene: Scene, { email }: Of<'self-release'>, binding: Binding): Outcome {
  const { license, now } = scene;
  const no = notTheHolder(scene, email);
  if (no) return no;
  if (!binding.ended) {
    if (selfReleasesLeft(license, now) <= 0) return refused('release_needs_support', 403, 'fix');
    binding.by_holder = true;
    binding.requests = binding.requests.filter(({ decision }) => decision !== null);
  }
  return ended(binding, now);
}

function ask(scene: Scene, { email }: Of<'ask'>, binding: Binding): Outcome {
  const no = notTheHolder(scene, email);
  if (no) return no;
  if (!binding.ended && !openOf(binding))
    binding.requests.push({ at: scene.now, decision: null, decided_at: null });
  return { says: '202' };
}

function decide({ now }: Scene, { nth, decision }: Of<'decide'>, binding: Binding): Outcome {
  const request = binding.requests[nth];
  if (!request) return refused('not_found', 404, 'fix');
  if (request.decision === null) {
    Object.assign(request, { decision, decided_at: now });
    if (decision === 'release') end(binding, now, 'released');
  }
  return { says: '200', decision: request.decision, decided_at: request.decided_at };
}

const openOf = ({ requests }: Binding) => requests.find(({ decision }) => decision === null);

/** Ends the license if it has not ended yet. @returns how it ended */
function ended(binding: Binding, now: number): Outcome {
  end(binding, now, 'released');
  return { says: '200', state: binding.ended!.reason, ended_at: binding.ended!.at };
}

function notTheHolder({ state, license, seen }: Scene, email: string): Outcome | undefined {
  // A concurrent erasure ends the session before or after the command is checked.
  if (seen && state.erased.includes(email) && /^40[14]/.test(seen.says)) return seen;
  return license.email === email ? undefined : refused('not_found', 404, 'fix');
}
