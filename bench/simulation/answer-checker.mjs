import { BINDING, SALE } from './expected-state.mjs';

/** A client gives up after this, and would never see the answer. */
const CALL_TIMEOUT_MS = 10_000;
/** A 503 says when to come back, spread over this. */
const SHED_SECONDS = [5, 30];
/**
 * Answers are dated to the second, by a clock that is set a few times a second. Before it, `Pace.slack` counts
 * too: where a day takes seconds, as in the short form of `npm test`, only a date of another day is found.
 */
const DATED_WITHIN_MS = 2_000;

/** Compares every answer with the expected state, counts what contradicts it, and returns what the answer means for the client. */
export class AnswerChecker {
  /** How often each kind of answer came that should not have come. */
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

  found(what, count = 1) {
    if (count > 0) this.findings.set(what, (this.findings.get(what) ?? 0) + count);
  }

  /** What is true of a client as it asks. */
  before(client) {
    const { sale, license, binding, unsure } = this.#expected;
    this.#counters.asked(this.#pace.now);
    return {
      now: this.#pace.now,
      sale: sale[license[client]],
      binding: binding[client],
      unsure: unsure[client],
    };
  }

  activation(client, before, answer) {
    const expected = this.#expected;
    const end = this.#general('activate', answer, this.#mayStop(client));
    // It may have been made all the same.
    if (end.kind === 'broken' || end.kind === 'later') expected.unsure[client] = 1;
    if (end.kind !== 'ok') return end;
    const { activation, license, token } = end.json;
    const isKnown = before.binding === BINDING.active || (before.unsure && answer.status === 200);
    this.#must(
      answer.status === (isKnown ? 200 : 201),
      `activate: ${answer.status} instead of the other 2xx`,
    );
    this.#must(before.sale !== SALE.refunded, 'activate: a refunded license was activated');
    const seats = expected.seats[expected.license[client]];
    this.#must(license.machines_allowed === seats, 'activate: another number of machines allowed');
    this.#must(license.machines_in_use <= seats, 'activate: more machines in use than allowed');
    this.#must(subjectOf(token) === activation.id, 'activate: a token of another activation');
    this.#dated('activate', before, end.json);
    expected.activated(client, activation.id);
    return end;
  }

  heartbeat(client, before, answer, hasTelemetry) {
    const { telemetry, id } = this.#expected;
    const end = this.#general('heartbeat', answer, this.#mayStop(client));
    if (end.kind === 'broken' && hasTelemetry) telemetry.unsure += 1;
    if (end.kind !== 'ok') return end;
    this.#must(answer.status === 200, `heartbeat: ${answer.status} instead of 200`);
    this.#must(before.sale !== SALE.refunded, 'heartbeat: a refunded license goes on');
    this.#must(before.binding !== BINDING.released, 'heartbeat: a released machine goes on');
    this.#must(subjectOf(end.json.token) === id[client], 'heartbeat: a token of another activation');
    this.#must(Boolean(end.json.telemetry) === hasTelemetry, 'heartbeat: telemetry not as asked');
    this.#dated('heartbeat', before, end.json);
    if (!hasTelemetry) return end;
    this.#must(end.json.telemetry?.dropped.length === 0, 'heartbeat: telemetry dropped');
    if (end.json.telemetry?.stored) telemetry.stored += 1;
    else this.#notStored(answer);
    return end;
  }

  /** @param kept the sequence that the client has in hand, 0 for none @returns also the sequence it has now */
  manifest(before, answer, kept) {
    const end = this.#general('manifest', answer, []);
    if (end.kind !== 'ok') return end;
    const [, most] = this.#expected.sequences;
    const sequence = answer.status === 304 ? kept : sequenceOf(end.json);
    this.#must(answer.status === 200 || kept > 0, 'manifest: 304 to one who has none');
    this.#must(sequence >= before.least && sequence <= most, 'manifest: not the live one');
    this.#must(answer.status === 304 || sequence !== kept, 'manifest: 200 to one who has it');
    return { ...end, sequence };
  }

  /** An answer to the vendor's side. @returns whether to ask again */
  vendor(route, answer) {
    return ['later', 'broken'].includes(this.#general(route, answer, []).kind);
  }

  // The codes that may stop this client at this moment.
  #mayStop(client) {
    const { sale, license, binding } = this.#expected;
    return [
      ...(sale[license[client]] !== SALE.paid ? ['license_refunded'] : []),
      ...(binding[client] >= BINDING.beingReleased ? ['binding_released'] : []),
    ];
  }

  #general(route, answer, stops) {
    const { status, head, ms, began, reason } = answer;
    const json = readJson(answer);
    const code = status >= 400 ? ` ${json?.code}` : '';
    this.#counters.answered({
      route,
      code: status ? `${status}${code}` : `no answer (${reason})`,
      now: this.#pace.now,
      ms,
      status,
    });
    if (ms > CALL_TIMEOUT_MS) this.#counters.late += 1;
    if (status === 0) {
      this.#must(
        this.#expected.wasUnavailable('service', began),
        `${route}: no answer from a service that was there`,
      );
      return { kind: 'broken' };
    }
    if (status === 503) {
      const seconds = Number(/\r\nretry-after: (\d+)/i.exec(head)?.[1] ?? NaN);
      this.#must(
        seconds >= SHED_SECONDS[0] && seconds <= SHED_SECONDS[1],
        `${route}: 503 without its retry-after`,
      );
      if (!this.#expected.wasUnavailable('database', began)) this.#counters.shed += 1;
      return { kind: 'later', retry_after_seconds: seconds };
    }
    if (status < 400 && (json || [204, 304].includes(status))) return { kind: 'ok', json };
    if (stops.includes(json?.code) && json.client_action === 'stop') return { kind: 'stop', code: json.code };
    this.found(`${route}: ${status}${code}`);
    return { kind: 'wrong' };
  }

  #dated(route, { now }, { server_time }) {
    const time = Date.parse(server_time) - this.#epoch;
    this.#must(
      time >= now - DATED_WITHIN_MS - this.#pace.slack && time <= this.#pace.now + DATED_WITHIN_MS,
      `${route}: an answer of another time`,
    );
  }

  // What came of a row whose transaction broke is not to be learnt.
  #notStored({ began }) {
    this.#expected.telemetry.unsure += 1;
    this.#counters.notStored += 1;
    if (!this.#expected.wasUnavailable('database', began)) this.#counters.notStoredOtherwise += 1;
  }

  #must(holds, what) {
    if (!holds) this.found(what);
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
