import { ACTIVATION, PURCHASE } from './expected-state.mjs';

/** The timeout of a client: a real client would not receive a later response. */
const CLIENT_TIMEOUT_MS = 10_000;
/** The range of `retry-after` in a 503: 5 to 30 seconds, and a minute to 6 hours because of load. */
const MIN_RETRY_AFTER_SECONDS = 5;
const MAX_RETRY_AFTER_SECONDS = 21_600;
/**
 * The tolerance of the time in responses, which is rounded to the second. The time may also be up to `Pace.clockToleranceMs`
 * early, because messages set the clock of the service; in the short simulation of `npm test` that is most of a day.
 */
const TIME_TOLERANCE_MS = 2_000;

/**
 * Compares every response with the expected state and counts the differences. Each check returns an outcome, by which the
 * client decides what to do next: its `kind` is `ok`, `stop`, `later` (a 503), `broken` (no response) or `wrong` (an unexpected
 * response).
 */
export class AnswerChecker {
  /** The number of wrong responses of each kind. */
  findings = new Map();
  #expected;
  #counters;
  #pace;
  #epoch;

  constructor(expected, { counters, pace, epoch }) {
    this.#expected = expected;
    this.#counters = counters;
    this.#pace = pace;
    this.#epoch = epoch;
  }

  addFinding(finding) {
    this.findings.set(finding, (this.findings.get(finding) ?? 0) + 1);
  }

  /** Counts a request. @returns the expected state of its client before the request */
  beginRequest(client) {
    const { purchase, license, activation, unconfirmed } = this.#expected;
    this.#counters.countRequest(this.#pace.now);
    return {
      now: this.#pace.now,
      purchase: purchase[license[client]],
      activation: activation[client],
      unconfirmed: unconfirmed[client],
    };
  }

  checkActivation(client, before, response) {
    const expected = this.#expected;
    const outcome = this.#checkStatus('activate', response, this.#allowedStops(client));
    // The service may have activated the machine without a confirmation.
    if (outcome.kind === 'broken' || outcome.kind === 'later') expected.unconfirmed[client] = 1;
    if (outcome.kind !== 'ok') return outcome;
    const { activation, license, token } = outcome.json;
    const isRepeated =
      before.activation === ACTIVATION.active || (before.unconfirmed && response.status === 200);
    this.#expect(
      response.status === (isRepeated ? 200 : 201),
      `activate: ${response.status} instead of ${isRepeated ? 200 : 201}`,
    );
    this.#expect(before.purchase !== PURCHASE.refunded, 'activate: a refunded license was activated');
    const limit = expected.machineLimits[expected.license[client]];
    this.#expect(license.machines_allowed === limit, 'activate: a wrong number of machines allowed');
    this.#expect(license.machines_in_use <= limit, 'activate: more machines in use than allowed');
    this.#expect(subjectOf(token) === activation.id, 'activate: a token of another activation');
    this.#checkTime('activate', before, outcome.json);
    expected.recordActivation(client, activation.id);
    return outcome;
  }

  checkHeartbeat(client, before, response, hasTelemetry) {
    const { telemetry, activationId } = this.#expected;
    const outcome = this.#checkStatus('heartbeat', response, this.#allowedStops(client));
    // After a 503 or without a response, the row may be stored or not.
    if (['broken', 'later'].includes(outcome.kind) && hasTelemetry) telemetry.unconfirmed += 1;
    if (outcome.kind !== 'ok') return outcome;
    this.#expect(response.status === 200, `heartbeat: ${response.status} instead of 200`);
    this.#expect(before.purchase !== PURCHASE.refunded, 'heartbeat: a refunded license was confirmed');
    this.#expect(before.activation !== ACTIVATION.released, 'heartbeat: a released machine was confirmed');
    this.#expect(
      subjectOf(outcome.json.token) === activationId[client],
      'heartbeat: a token of another activation',
    );
    this.#expect(
      Boolean(outcome.json.telemetry) === hasTelemetry,
      'heartbeat: the result of telemetry is missing or not expected',
    );
    this.#checkTime('heartbeat', before, outcome.json);
    if (!hasTelemetry) return outcome;
    this.#expect(outcome.json.telemetry?.dropped.length === 0, 'heartbeat: telemetry dropped');
    if (outcome.json.telemetry?.stored) telemetry.stored += 1;
    else this.#countNotStored(response);
    return outcome;
  }

  /**
   * @param before the result of `beginRequest`, with `lowestSequence`, the lowest one that could be live when the request was sent
   * @param held sequence of the manifest that the client has, 0 for none
   * @returns the outcome, with the new sequence
   */
  checkManifest(before, response, held) {
    const outcome = this.#checkStatus('manifest', response, []);
    if (outcome.kind !== 'ok') return outcome;
    const sequence = response.status === 304 ? held : sequenceOf(outcome.json);
    this.#expect(response.status === 200 || held > 0, 'manifest: 304 to a client without a manifest');
    this.#expect(
      sequence >= before.lowestSequence && sequence <= this.#expected.highestSequence,
      'manifest: not a published manifest',
    );
    this.#expect(
      response.status === 304 || sequence !== held,
      'manifest: 200 to a client that has it already',
    );
    return { ...outcome, sequence };
  }

  /** Checks a response to the vendor. @returns whether to repeat the request */
  shouldRepeat(route, response) {
    return ['later', 'broken'].includes(this.#checkStatus(route, response, []).kind);
  }

  // Returns the error codes that may stop this client now.
  #allowedStops(client) {
    const { purchase, license, activation } = this.#expected;
    return [
      ...(purchase[license[client]] !== PURCHASE.paid ? ['license_refunded'] : []),
      ...(activation[client] >= ACTIVATION.beingReleased ? ['binding_released'] : []),
    ];
  }

  #checkStatus(route, response, stops) {
    const { status, head, ms, began, reason } = response;
    const json = readJson(response);
    const code = status >= 400 ? ` ${json?.code}` : '';
    this.#counters.countResponse({
      route,
      code: status ? `${status}${code}` : `no answer (${reason})`,
      now: this.#pace.now,
      ms,
      status,
    });
    if (ms > CLIENT_TIMEOUT_MS) this.#counters.late += 1;
    if (status === 0) {
      this.#expect(
        this.#expected.wasUnavailable('service', began),
        `${route}: no answer while the service was available`,
      );
      return { kind: 'broken' };
    }
    if (status === 503) {
      const seconds = Number(/\r\nretry-after: (\d+)/i.exec(head)?.[1] ?? NaN);
      this.#expect(
        seconds >= MIN_RETRY_AFTER_SECONDS && seconds <= MAX_RETRY_AFTER_SECONDS,
        `${route}: 503 without a correct retry-after`,
      );
      if (!this.#expected.wasUnavailable('database', began)) this.#counters.shed += 1;
      return { kind: 'later', retry_after_seconds: seconds };
    }
    if (status < 400 && (json || [204, 304].includes(status))) return { kind: 'ok', json };
    if (stops.includes(json?.code) && json.client_action === 'stop') return { kind: 'stop', code: json.code };
    this.addFinding(`${route}: ${status}${code}`);
    return { kind: 'wrong' };
  }

  #checkTime(route, { now }, { server_time }) {
    const time = Date.parse(server_time) - this.#epoch;
    this.#expect(
      time >= now - TIME_TOLERANCE_MS - this.#pace.clockToleranceMs &&
        time <= this.#pace.now + TIME_TOLERANCE_MS,
      `${route}: a wrong server_time`,
    );
  }

  // The service reports a row as not stored if its transaction failed, but the commit may have succeeded.
  #countNotStored({ began }) {
    this.#expected.telemetry.unconfirmed += 1;
    this.#counters.notStored += 1;
    if (!this.#expected.wasUnavailable('database', began)) this.#counters.notStoredOutsideOutage += 1;
  }

  #expect(isTrue, finding) {
    if (!isTrue) this.addFinding(finding);
  }
}

const subjectOf = (token) => JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString()).sub;
const sequenceOf = ({ signed }) => JSON.parse(signed).sequence;

function readJson({ body }) {
  try {
    return body.length > 0 ? JSON.parse(body.toString()) : null;
  } catch {
    return null;
  }
}
