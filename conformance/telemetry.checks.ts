import { demand, NotChecked, once, type Check } from './check.ts';
import { APP_VERSION, type Deployment } from './deployment.ts';
import { seat } from './seat.ts';
import { at, demandJson, shown, described } from './shape.ts';

/** Says of itself what it is: it may be stored, and counted. */
const GOOD = { app_version: APP_VERSION, os_version: 'conformance', arch: 'conformance' };

/** Values outside the bounds of known members. */
const WRONG = {
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
/** What looks like an e-mail address, an IP or MAC address, a UUID, a URL or a file path; none is anyone's. */
const PERSONAL = {
  mac_model: 'unknown@conformance.invalid',
  crash_label: '192.0.2.1',
  crash_signal: '02:00:5e:10:00:00',
  soc_name: '00000000-0000-4000-8000-000000000000',
  ram_gb_bucket: '/Users/unknown/conformance',
};
/** The contract leaves open whether the character or the whole value is dropped, so only the 200 is demanded. */
const UNSTORABLE = { os_version: 'conformance\0', unlock_retry_outcome: '\ud83d' };
const UNKNOWN = { conformance: 'conformance-canary' };

const send = async (service: Deployment, telemetry: unknown) =>
  service.heartbeat((await seat(service)).token, { telemetry });
const goodBlock = once((service) => send(service, GOOD));
/** All that is wrong in one block, for each that is stored counts for one machine in the operator's counts. */
const badBlock = once((service) => send(service, { ...WRONG, ...PERSONAL, ...UNSTORABLE, ...UNKNOWN }));

/** The names in `dropped` of the block that has everything wrong. */
async function dropped(service: Deployment): Promise<unknown[]> {
  await seat(service);
  const answer = await badBlock(service).catch(() => {
    throw new NotChecked('the block full of bad values was not answered');
  });
  const names = at(answer.json, 'telemetry', 'dropped');
  if (!Array.isArray(names))
    throw new NotChecked(`there is no list of what was dropped: ${described(answer)}`);
  return names;
}

function demandDropped(names: unknown[], block: object): void {
  const missing = Object.keys(block).filter((name) => !names.includes(name));
  demand(missing.length === 0, `dropped does not name ${missing.join(', ')}.`);
}

const STORED_NOTHING: Record<string, unknown> = {
  null: null,
  'a list': [GOOD],
  'a text': 'conformance',
  'an object over 8 KiB': { ...GOOD, conformance: 'x'.repeat(8192) },
};

export const telemetryChecks: readonly Check[] = [
  {
    title: 'A good block answers stored: true, and nothing was dropped',
    run: async (service) => {
      const answer = await goodBlock(service);
      demandJson(answer, 200);
      const value = at(answer.json, 'telemetry');
      const names = at(value, 'dropped');
      demand(
        at(value, 'stored') === true && Array.isArray(names) && names.length === 0,
        `telemetry is ${shown(value)}.`,
      );
    },
  },
  {
    title: 'A block full of bad values answers 200 and stored: true',
    run: async (service) => {
      const answer = await badBlock(service);
      demandJson(answer, 200);
      const stored = at(answer.json, 'telemetry', 'stored');
      demand(stored === true, `telemetry.stored is ${shown(stored)}.`);
      demand(typeof at(answer.json, 'token') === 'string', 'The answer has no token.');
    },
  },
  {
    title: 'A bad value of a known member is named in dropped',
    run: async (service) => demandDropped(await dropped(service), WRONG),
  },
  {
    title: 'A text that looks like an address, a UUID, a URL or a path is named in dropped',
    run: async (service) => demandDropped(await dropped(service), PERSONAL),
  },
  {
    title: 'An unknown member is dropped in silence',
    run: async (service) => {
      const known = Object.keys({ ...WRONG, ...PERSONAL, ...UNSTORABLE });
      const others = (await dropped(service)).filter((name) => !known.includes(String(name)));
      demand(others.length === 0, `dropped names ${shown(others.join(', '))}.`);
    },
  },
  ...Object.entries(STORED_NOTHING).map(([what, telemetry]): Check => ({
    title: `A telemetry that is ${what} answers stored: false, and still 200`,
    run: async (service) => {
      const answer = await send(service, telemetry);
      demandJson(answer, 200);
      const stored = at(answer.json, 'telemetry', 'stored');
      demand(stored === false, `telemetry.stored is ${shown(stored)}.`);
    },
  })),
];
