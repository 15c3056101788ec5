import { expect } from '@jest/globals';
import { readTelemetry, TELEMETRY_FIELDS, TELEMETRY_NAMES } from '../../src/telemetry/telemetry.fields.js';

export const TEXT_MEMBERS: readonly string[] = TELEMETRY_NAMES.filter(
  (name) => TELEMETRY_FIELDS[name].type === 'text',
);

/** The members in which `1.2.3.4` is a version. */
export const VERSION_MEMBERS: readonly string[] = ['app_version', 'os_version', 'crash_app_version'];

/** The members that store this value, of these members, each of which is sent with it. */
export function storingMembers(value: string, members: readonly string[]): string[] {
  const { values, dropped } = readTelemetry(Object.fromEntries(members.map((name) => [name, value])));
  const storing = members.filter(
    (name) => values[(TELEMETRY_NAMES as readonly string[]).indexOf(name)] !== null,
  );
  // Each other member is reported as dropped.
  expect(new Set([...storing, ...dropped])).toEqual(new Set(members));
  return storing;
}
