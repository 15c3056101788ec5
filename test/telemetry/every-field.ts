import { TELEMETRY_FIELDS, TELEMETRY_NAMES } from '../../src/telemetry/telemetry.fields.js';

/** Every telemetry field with a valid value. Tests use it instead of example values of their own. */
export const EVERY_FIELD: Readonly<Record<string, string | number>> = Object.fromEntries(
  TELEMETRY_NAMES.map((name) => [name, TELEMETRY_FIELDS[name].example]),
);
