import { asObject, parseObject } from './json.js';
import { LicenseProblem, ServiceUnreachable, type ClientAction, type FieldError } from './problem.js';
import { isBusy } from './retry-after.js';
import { isToken } from './state.js';
import { parseTime } from './time.js';
import type { Answer, NoAnswer } from './transport.js';

/** The content of a valid response to an activation or a heartbeat. */
export interface Confirmation {
  /** Stored and sent back unchanged; `license-token.ts` reads three of its claims. */
  token: string;
  offline_until: string;
  server_time: string;
  heartbeat_after_seconds: number | undefined;
  license_expires_at: string | null;
}

/** The result of an activation or a heartbeat, as the client understood it. */
export type Outcome =
  { kind: 'confirmed'; confirmation: Confirmation } | { kind: 'problem'; problem: LicenseProblem } | NoAnswer;

const ACTIONS: readonly string[] = ['retry', 'fix', 'reactivate', 'stop'];

/**
 * Validates a response. The response of a captive portal, a proxy or a broken server must not be taken for one of the
 * service, so a response that is neither a valid confirmation nor a valid problem counts as no answer.
 */
export function readLicenseAnswer(answer: Answer | NoAnswer): Outcome {
  if (answer.kind === 'no_answer') return answer;
  if (answer.status === 200 || answer.status === 201) {
    const confirmation = readConfirmation(answer);
    return confirmation ? { kind: 'confirmed', confirmation } : invalidAnswer(answer);
  }
  const problem = readProblem(answer);
  return problem ? { kind: 'problem', problem } : invalidAnswer(answer);
}

/** The error that `activate` throws for an outcome. */
export function errorOf(
  outcome: Exclude<Outcome, { kind: 'confirmed' }>,
): LicenseProblem | ServiceUnreachable {
  if (outcome.kind === 'problem') return outcome.problem;
  return new ServiceUnreachable(outcome.reason, outcome.retry_after_seconds);
}

/** The code of a problem for the log. A received text of another form could be personal, or have a line break. */
export function logText({ code }: LicenseProblem): string {
  return /^[a-z_]{1,40}$/.test(code) ? code : 'a problem whose code has an invalid form';
}

/** What an outcome asks the client to do; undefined if it is not a problem document. */
export function actionOf(outcome: Outcome): ClientAction | undefined {
  return outcome.kind === 'problem' ? outcome.problem.client_action : undefined;
}

function invalidAnswer(answer: Answer): NoAnswer {
  return {
    kind: 'no_answer',
    reason: `not an answer of the service, status ${answer.status}`,
    hasResponse: true,
    retry_after_seconds: isBusy(answer.status) ? answer.retry_after_seconds : undefined,
  };
}

function readConfirmation(answer: Answer): Confirmation | undefined {
  const body = answer.media_type === 'application/json' ? parseObject(answer.text) : undefined;
  const license = asObject(body?.['license']);
  if (!body || !license) return undefined;
  const { token, offline_until, server_time, heartbeat_after_seconds } = body;
  const { expires_at } = license;
  if (!isToken(token)) return undefined;
  const until = parseTime(offline_until);
  const serverTime = parseTime(server_time);
  if (until === undefined || serverTime === undefined || until <= serverTime) return undefined;
  if (expires_at !== null && parseTime(expires_at) === undefined) return undefined;
  return {
    token,
    offline_until: offline_until as string,
    server_time: server_time as string,
    heartbeat_after_seconds:
      typeof heartbeat_after_seconds === 'number' ? heartbeat_after_seconds : undefined,
    license_expires_at: expires_at as string | null,
  };
}

function readProblem(answer: Answer): LicenseProblem | undefined {
  if (answer.media_type !== 'application/problem+json' || answer.status < 400) return undefined;
  const body = parseObject(answer.text);
  if (!body || typeof body['code'] !== 'string' || body['code'] === '') return undefined;
  const {
    type: _,
    title,
    status: __,
    code,
    client_action,
    detail,
    errors,
    request_id: ___,
    ...extras
  } = body;
  const knownAction = ACTIONS.includes(client_action as string) ? (client_action as ClientAction) : 'retry';
  return new LicenseProblem({
    status: answer.status,
    code,
    // A failing server decides nothing about a license: a 5xx can only ask for another attempt.
    client_action: answer.status < 500 ? knownAction : 'retry',
    detail: [detail, title].find((text): text is string => typeof text === 'string' && text !== '') ?? code,
    errors: readFieldErrors(errors),
    extras,
    retry_after_seconds: answer.retry_after_seconds,
  });
}

function readFieldErrors(errors: unknown): FieldError[] {
  if (!Array.isArray(errors)) return [];
  return errors.flatMap((entry) => {
    const { pointer, detail } = asObject(entry) ?? {};
    return typeof pointer === 'string' && typeof detail === 'string' ? [{ pointer, detail }] : [];
  });
}
