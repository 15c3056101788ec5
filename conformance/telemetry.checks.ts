import { demand, once, type Check } from './check.ts';
import { APP_VERSION, type Deployment } from './deployment.ts';
import { successfulActivation } from './first-activation.ts';
import { NotChecked } from './not-checked.ts';
import { at, demandJson, formatValue, describeAnswer } from './shape.ts';

/** Valid telemetry. Its values identify it in the operator's counts. */
const VALID = { app_version: APP_VERSION, os_version: 'conformance', arch: 'conformance' };

/** Invalid values of known members. */
const INVALID = {
  cpu_cores: -1,
  camera_count: 1.5,
  uptime_hours: 2 ** 31,
  crash_count_since_last: '3',
  detector_compute: 'conformance',
  crash_kind: 'conformance',
  crash_sig: 'conformance',
  crash_frame: 'conformance without a line',
  arch: 'con formance',
  crash_app_version: 'x'.repeat(121),
};
/** Texts that look like personal data: an e-mail, IP or MAC address, a UUID, a file path. All are reserved or invented. */
const PERSONAL = {
  mac_model: 'unknown@conformance.invalid',
  crash_label: '192.0.2.1',
  crash_signal: '02:00:5e:10:00:00',
  soc_name: '00000000-0000-4000-8000-000000000000',
  ram_gb_bucket: '/Users/unknown/conformance',
};
/** Texts that a database cannot store. It is not checked whether `dropped` names these members. */
const UNSTORABLE = { os_version: 'conformance\0', unlock_retry_outcome: '\ud83d' };
const UNKNOWN = { conformance: 'conformance-canary' };

const sendTelemetry = async (service: Deployment, telemetry: unknown) =>
  service.heartbeat((await successfulActivation(service)).token, { telemetry });
const validTelemetry = once((service) => sendTelemetry(service, VALID));
/** All invalid values are sent in one block, because each stored block counts as a heartbeat in the operator's counts. */
const invalidTelemetry = once((service) =>
  sendTelemetry(service, { ...INVALID, ...PERSONAL, ...UNSTORABLE, ...UNKNOWN }),
);

/** The names in `dropped` of the answer to the invalid telemetry. */
async function droppedNames(service: Deployment): Promise<unknown[]> {
  // Without an activation this throws NotChecked with the reason for that, which is not the reason below.
  await successfulActivation(service);
  const answer = await invalidTelemetry(service).catch(() => {
    throw new NotChecked('the heartbeat with invalid telemetry was not answered');
  });
  const names = at(answer.json, 'telemetry', 'dropped');
  if (!Array.isArray(names))
    throw new NotChecked(`the answer has no list of dropped members: ${describeAnswer(answer)}`);
  return names;
}

function demandDropped(names: unknown[], block: object): void {
  const missing = Object.keys(block).filter((name) => !names.includes(name));
  demand(missing.length === 0, `dropped does not name ${missing.join(', ')}.`);
}

const NOT_STORED: Record<string, unknown> = {
  null: null,
  'a list': [VALID],
  'a text': 'conformance',
  'an object over 8 KiB': { ...VALID, conformance: 'x'.repeat(8192) },
};

export const telemetryChecks: readonly Check[] = [
  {
    title: 'Valid telemetry is answered with stored: true and an empty dropped',
    run: async (service) => {
      const answer = await validTelemetry(service);
      demandJson(answer, 200);
      const value = at(answer.json, 'telemetry');
      const names = at(value, 'dropped');
      demand(
        at(value, 'stored') === true && Array.isArray(names) && names.length === 0,
        `telemetry is ${formatValue(value)}.`,
      );
    },
  },
  {
    title: 'Telemetry with invalid values is answered with 200 and stored: true',
    run: async (service) => {
      const answer = await invalidTelemetry(service);
      demandJson(answer, 200);
      const stored = at(answer.json, 'telemetry', 'stored');
      demand(stored === true, `telemetry.stored is ${formatValue(stored)}.`);
      demand(typeof at(answer.json, 'token') === 'string', 'The answer has no token.');
    },
  },
  {
    title: 'Members with an invalid value are listed in dropped',
    run: async (service) => demandDropped(await droppedNames(service), INVALID),
  },
  {
    title: 'Members whose text looks like an address, a UUID or a path are listed in dropped',
    run: async (service) => demandDropped(await droppedNames(service), PERSONAL),
  },
  {
    title: 'An unknown member is not listed in dropped',
    run: async (service) => {
      const known = Object.keys({ ...INVALID, ...PERSONAL, ...UNSTORABLE });
      const others = (await droppedNames(service)).filter((name) => !known.includes(String(name)));
      demand(others.length === 0, `dropped names ${formatValue(others.join(', '))}.`);
    },
  },
  ...Object.entries(NOT_STORED).map(([what, telemetry]): Check => ({
    title: `Telemetry that is ${what} is answered with 200 and stored: false`,
    run: async (service) => {
      const answer = await sendTelemetry(service, telemetry);
      demandJson(answer, 200);
      const stored = at(answer.json, 'telemetry', 'stored');
      demand(stored === false, `telemetry.stored is ${formatValue(stored)}.`);
    },
  })),
];
