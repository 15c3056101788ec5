import { readVectors } from '../support/vectors.js';

interface TelemetryCase {
  readonly name: string;
  readonly telemetry: Record<string, string | number>;
}

const CASE = 'Every field of the heartbeat after a crash.';
const { cases } = readVectors<{ cases: TelemetryCase[] }>('telemetry.json');

/** Every telemetry field with a valid value. Tests use it instead of example values of their own. */
export const EVERY_FIELD = cases.find(({ name }) => name === CASE)!.telemetry;
