import {
  activeOf,
  changeAndRecordEnd,
  endActivation,
  UNKNOWN_ID,
  applyRetentionRule,
  RETENTION_RULES,
  findRefusal,
  refusedOutcome,
  toWholeSecond,
  isOfFormerHolder,
  selfReleasesLeft,
  statusOf,
  type Activation,
  type Command,
  type License,
  type ModelState,
  type Outcome,
} from './license-model.js';

type CommandOf<Type extends Command['type']> = Extract<Command, { type: Type }>;

/** The context of a command about one license. */
interface StepContext {
  readonly state: ModelState;
  readonly now: number;
  readonly license: License;
  readonly observed: Outcome | undefined;
}

/**
 * Applies a command to the state. @returns the response that the service must give
 * @param observed the response of the service, the only source of the ids of new objects and of whether a session had ended
 */
export function step(state: ModelState, command: Command, observed?: Outcome): Outcome {
  switch (command.type) {
    case 'advance-clock':
      return advanceClock(state, command);
    case 'restart-instance':
      return restartInstance(state);
    case 'erase':
      return erase(state, command);
  }
  const context = { state, now: state.now, license: state.licenses[command.licenseIndex]!, observed };
  return 'activationId' in command ? stepOfActivation(context, command) : stepOfLicense(context, command);
}

function stepOfLicense(
  context: StepContext,
  command: CommandOf<'issue' | 'report' | 'activate' | 'change-license' | 'rekey' | 'apply-retention'>,
): Outcome {
  switch (command.type) {
    case 'issue':
      return issue(context, command);
    case 'report':
      return report(context, command);
    case 'activate':
      return activate(context, command);
    case 'change-license':
      return changeLicense(context, command);
    case 'rekey':
      return rekey(context);
    case 'apply-retention':
      return applyRetention(context, command);
  }
}

function stepOfActivation(
  context: StepContext,
  command: Extract<Command, { activationId: string }>,
): Outcome {
  const activation = context.license.activations.find(({ id }) => id === command.activationId);
  if (command.type === 'heartbeat')
    return activation
      ? heartbeat(context, command, activation)
      : refusedOutcome('token_invalid', 403, 'reactivate');
  if (!activation) return refusedOutcome('not_found', 404, 'fix');
  switch (command.type) {
    case 'release':
      return release(context, activation);
    case 'self-release':
      return selfRelease(context, command, activation);
    case 'request-release':
      return requestRelease(context, command, activation);
    case 'decide':
      return decide(context, command, activation);
  }
}

function advanceClock(state: ModelState, { seconds }: CommandOf<'advance-clock'>): Outcome {
  state.now += seconds * 1000;
  return { result: 'clock advanced' };
}

function restartInstance(state: ModelState): Outcome {
  // The service applies the retention rules when it starts.
  for (const license of state.licenses)
    for (const rule of RETENTION_RULES) applyRetentionRule(state, license, rule);
  return { result: 'restarted' };
}

function applyRetention({ state, license }: StepContext, { rule }: CommandOf<'apply-retention'>): Outcome {
  applyRetentionRule(state, license, rule);
  return { result: 'retention applied' };
}

function erase(state: ModelState, { email }: CommandOf<'erase'>): Outcome {
  state.erased.push(email);
  for (const license of state.licenses.filter((each) => each.email === email)) {
    changeAndRecordEnd(license, state.now, () => (license.email = null));
    for (const activation of license.activations) {
      endActivation(activation, state.now, 'released');
      Object.assign(activation, { machine: '', hostname_hint: null, requests: [] });
    }
  }
  return { result: '200', state: 'honoured' };
}

function issue({ license, now }: StepContext, { email, terms }: CommandOf<'issue'>): Outcome {
  changeAndRecordEnd(license, now, () => Object.assign(license, { email, is_issued: true, ...terms }));
  return { result: '201' };
}

function report({ license, now }: StepContext, { email, status }: CommandOf<'report'>): Outcome {
  changeAndRecordEnd(license, now, () => {
    license.reports!.push(status);
    if (status === 'paid' && !license.is_issued) Object.assign(license, { email, is_issued: true });
  });
  if (status === 'refunded') for (const each of license.activations) endActivation(each, now, 'refunded');
  return { result: '204' };
}

function activate({ license, now, observed }: StepContext, command: CommandOf<'activate'>): Outcome {
  const { machine, hostname_hint, app_version } = command;
  if (!isKnown(license, command)) return refusedOutcome('license_not_found', 404);
  const refusal = findRefusal(license, null, app_version, now);
  if (refusal) return refusal;
  const { machines_allowed, expires_at } = license;
  const existing = activeOf(license).find((each) => each.machine === machine);
  const others = activeOf(license).length - (existing ? 1 : 0);
  if (!existing && others >= machines_allowed)
    return { ...refusedOutcome('machine_limit_reached', 409), machines_allowed, machines_in_use: others };
  const id = observed?.activationId ?? UNKNOWN_ID;
  const requested = { machine, hostname_hint, app_version };
  const created: Activation = {
    id,
    ...requested,
    activated_at: now,
    ended: null,
    released_by_holder: false,
    requests: [],
  };
  const activation = existing ?? created;
  if (!existing) license.activations.push(activation);
  // If the response to the first attempt was lost, the response to the repeated one shows the id.
  if (activation.id === UNKNOWN_ID) activation.id = id;
  const { activated_at } = activation;
  const counts = { machines_allowed, machines_in_use: others + 1 };
  const members = { hostname_hint: activation.hostname_hint, activated_at, ...counts, expires_at };
  return { result: existing ? '200' : '201', activationId: activation.id, ...members };
}

/**
 * Whether an activation finds the license by its key and address. An active machine also finds it by each key that was
 * replaced since its activation, and by any address if the address changed since then: a former address is not stored
 * (docs/decisions/0028).
 */
function isKnown(license: License, { generation, email, machine }: CommandOf<'activate'>): boolean {
  const isItsKey = generation === license.generation;
  const isItsEmail = email === license.email;
  if (isItsKey && isItsEmail) return true;
  const active = activeOf(license).find((each) => each.machine === machine);
  if (!active) return false;
  const isKeyKnown = isItsKey || (license.replaced_at[generation - 1] ?? 0) >= active.activated_at;
  return isKeyKnown && (isItsEmail || (license.email_since ?? 0) >= active.activated_at);
}

/** Whether staff do not find the license, because it is not issued yet or already deleted. */
const isUnknown = ({ is_issued, is_deleted }: License): boolean => !is_issued || is_deleted;

/** The time of a change, which is not before any event of an activation, even if the clocks of two instances differ. */
const afterActivations = ({ activations }: License, now: number): number =>
  Math.max(
    now,
    ...activations.flatMap(({ activated_at, ended, requests }) => [
      activated_at,
      ended?.at ?? 0,
      ...requests.map(({ at }) => at),
    ]),
  );

/** The time of an event of the present holder, which is after the change of the address, also in the same moment. */
const afterNewAddress = ({ email_since }: License, now: number): number =>
  Math.max(now, (email_since ?? 0) + 1);

function changeLicense({ license, now }: StepContext, { terms }: CommandOf<'change-license'>): Outcome {
  if (isUnknown(license)) return refusedOutcome('not_found', 404, 'fix');
  if (terms.email !== undefined && license.email === null)
    return refusedOutcome('license_erased', 409, 'fix');
  const hasNewHolder = terms.email !== undefined && terms.email !== license.email;
  changeAndRecordEnd(license, now, () => Object.assign(license, terms));
  if (hasNewHolder) deleteFormerHolderData(license, now);
  return { result: '200' };
}

/** Records when the address changed, and deletes the hostname hints of ended activations and the open requests. */
function deleteFormerHolderData(license: License, now: number): void {
  license.email_since = afterActivations(license, afterNewAddress(license, now));
  for (const activation of license.activations) {
    if (activation.ended) activation.hostname_hint = null;
    activation.requests = activation.requests.filter(({ decision }) => decision !== null);
  }
}

function rekey({ license, now }: StepContext): Outcome {
  if (isUnknown(license)) return refusedOutcome('not_found', 404, 'fix');
  if (license.email === null || ['refunded', 'revoked'].includes(statusOf(license)))
    return refusedOutcome('key_not_mailable', 409, 'fix');
  license.generation += 1;
  license.replaced_at.push(afterActivations(license, afterNewAddress(license, now)));
  return { result: '202' };
}

function heartbeat(
  { license, now }: StepContext,
  { app_version, telemetry }: CommandOf<'heartbeat'>,
  activation: Activation,
): Outcome {
  const members = { activationId: activation.id, expires_at: license.expires_at, telemetry };
  return findRefusal(license, activation, app_version, now) ?? { result: '200', ...members };
}

function release({ license, now }: StepContext, activation: Activation): Outcome {
  const open = openRequestOf(activation);
  if (!activation.ended && open) Object.assign(open, { decision: 'release', decided_at: now });
  return endAsReleased(activation, afterNewAddress(license, now));
}

function selfRelease(
  context: StepContext,
  { email }: CommandOf<'self-release'>,
  activation: Activation,
): Outcome {
  const { license, now } = context;
  const refusal = refuseUnlessHolder(context, email);
  if (refusal) return refusal;
  if (isOfFormerHolder(license, activation)) return refusedOutcome('not_found', 404, 'fix');
  if (!activation.ended) {
    if (selfReleasesLeft(license, now) <= 0) return refusedOutcome('release_needs_support', 403, 'fix');
    activation.released_by_holder = true;
    activation.requests = activation.requests.filter(({ decision }) => decision !== null);
  }
  return endAsReleased(activation, afterNewAddress(license, now));
}

function requestRelease(
  context: StepContext,
  { email }: CommandOf<'request-release'>,
  activation: Activation,
): Outcome {
  const refusal = refuseUnlessHolder(context, email);
  if (refusal) return refusal;
  if (isOfFormerHolder(context.license, activation)) return refusedOutcome('not_found', 404, 'fix');
  if (!activation.ended && !openRequestOf(activation))
    activation.requests.push({
      at: afterNewAddress(context.license, context.now),
      decision: null,
      decided_at: null,
    });
  return { result: '202' };
}

function decide(
  { license, now }: StepContext,
  { requestIndex, decision }: CommandOf<'decide'>,
  activation: Activation,
): Outcome {
  const request = activation.requests[requestIndex];
  if (!request) return refusedOutcome('not_found', 404, 'fix');
  if (request.decision === null) {
    Object.assign(request, { decision, decided_at: now });
    if (decision === 'release') endActivation(activation, afterNewAddress(license, now), 'released');
  }
  return { result: '200', decision: request.decision, decided_at: request.decided_at };
}

const openRequestOf = ({ requests }: Activation) => requests.find(({ decision }) => decision === null);

/** Ends an activation, unless it has ended already. @returns the response, which says how and when it ended */
function endAsReleased(activation: Activation, now: number): Outcome {
  endActivation(activation, now, 'released');
  return { result: '200', state: activation.ended!.reason, ended_at: toWholeSecond(activation.ended!.at) };
}

/** Returns the refusal of a request from a session of this address, if the license does not belong to it. */
function refuseUnlessHolder({ state, license, observed }: StepContext, email: string): Outcome | undefined {
  // A concurrent erasure may end the session before or after the service reads it, so both responses are possible.
  if (observed && state.erased.includes(email) && /^40[14]/.test(observed.result)) return observed;
  return license.email === email ? undefined : refusedOutcome('not_found', 404, 'fix');
}
