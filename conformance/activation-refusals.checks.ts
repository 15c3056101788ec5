import { createHash } from 'node:crypto';
import { demand, type Check } from './check.ts';
import { APP_VERSION, HOSTNAME_HINT, type Deployment } from './deployment.ts';
import type { Answer } from './http.ts';
import { mistypedKey, unknownLicense } from './license-keys.ts';
import { firstActivation, successfulActivation } from './first-activation.ts';
import { NotChecked } from './not-checked.ts';
import { at, demandInvalid, demandMembers, demandRefusal, formatValue, describeAnswer } from './shape.ts';

/** A valid machine id: 64 hex digits. */
const VALID_MACHINE_ID = 'c0'.repeat(32);

/** Invalid values of each member, with a description of the fault. */
const INVALID: Record<string, Record<string, unknown>> = {
  license_key: {
    'of five groups': 'MOOR_E6S7-Z8KJ-TB3R-QKX6-QKX6',
    'of three groups': 'MOOR_E6S7-Z8KJ-TB3R',
  },
  email: { 'without an @': 'conformance.invalid', 'of 255 characters': `${'a'.repeat(245)}@a.invalid` },
  machine_id: {
    'of 63 digits': VALID_MACHINE_ID.slice(1),
    'a raw UUID': '00000000-0000-4000-8000-000000000000',
  },
  hostname_hint: { 'of 101 characters': 'x'.repeat(101) },
  app_version: { 'with a letter': 'v3.2-conformance', 'of five parts': '1.2.3.4.5' },
};

const REQUIRED = ['license_key', 'email', 'machine_id', 'app_version'];
const MEMBERS = [...REQUIRED, 'hostname_hint'];

/** Sends all these members with one value (undefined leaves them out), and demands that all are listed as invalid. */
async function demandAllListed(
  service: Deployment,
  what: string,
  names: string[],
  value: unknown,
): Promise<void> {
  const answer = await service.activate(Object.fromEntries(names.map((name) => [name, value])));
  demandInvalid(answer, what, ...names.map((name) => `/${name}`));
}

const memberChecks = Object.entries(INVALID).map(([member, variants]): Check => ({
  title: `A wrong ${member} is refused with 422 at /${member}`,
  run: async (service) => {
    for (const [variant, value] of Object.entries(variants)) {
      const answer = await service.activate({ ...unknownLicense(service.license), [member]: value });
      demandInvalid(answer, `${member} ${variant}`, `/${member}`);
    }
  },
}));

/** Returns the parts of a refusal that are compared: status, two headers, and the body without its request id. */
function comparableText({ status, headers, body, json }: Answer): string {
  const id = at(json, 'request_id');
  const text = body.toString('utf8');
  const withoutId = typeof id === 'string' && id ? text.replaceAll(id, '') : text;
  return JSON.stringify([status, headers['content-type'], headers['cache-control'], withoutId]);
}

export const activationRefusalChecks: readonly Check[] = [
  {
    title: 'All missing members are listed, each with its JSON pointer',
    run: (service) => demandAllListed(service, 'An empty object', REQUIRED, undefined),
  },
  {
    title: 'All members that are not texts are listed',
    run: (service) => demandAllListed(service, 'Numbers in place of texts', MEMBERS, 7),
  },
  {
    title: 'A NUL in a member is refused with 422, never a 500',
    run: (service) => demandAllListed(service, 'Texts with a NUL', MEMBERS, 'conformance\0'),
  },
  {
    title: 'An unpaired surrogate in a member is refused with 422, never a 500',
    run: (service) =>
      demandAllListed(service, 'Texts with half a surrogate pair', MEMBERS, 'conformance\ud83d'),
  },
  ...memberChecks,
  {
    title: 'A key with a wrong check symbol is refused with 422 at /license_key',
    run: async (service) => {
      const license_key = mistypedKey(service.license.license_key);
      const answer = await service.activate({ ...unknownLicense(service.license), license_key });
      demandInvalid(answer, 'A key with a mistyped character', '/license_key');
    },
  },
  {
    title: 'An unknown key and another e-mail address have the same answer, byte for byte',
    run: async (service) => {
      const { license_key, email } = unknownLicense(service.license);
      const toUnknownKey = await service.activate({ license_key });
      const toOtherEmail = await service.activate({ email });
      demandRefusal(toUnknownKey, 404, 'license_not_found');
      demandRefusal(toOtherEmail, 404, 'license_not_found');
      demand(
        comparableText(toUnknownKey) === comparableText(toOtherEmail),
        'The two answers differ, so a caller learns whether the key or the e-mail address was wrong.',
      );
    },
  },
  {
    title:
      'A machine above the limit is refused with 409, the numbers of machines, portal_url and release_url',
    run: async (service) => {
      const answer = await refusalAboveLimit(service);
      demandRefusal(answer, 409, 'machine_limit_reached');
      demandMembers(answer.json, { machines_allowed: 'count', machines_in_use: 'count' });
      const portal = at(answer.json, 'portal_url');
      demand(
        typeof portal === 'string' && /^https?:\/\/\S+\/portal\/$/.test(portal),
        `portal_url is ${formatValue(portal)}.`,
      );
      const link = at(answer.json, 'release_url');
      demand(
        typeof link === 'string' && link.startsWith(`${portal}#release=`),
        `release_url is ${formatValue(link)}.`,
      );
      const named = new URLSearchParams(link.slice(link.indexOf('#') + 1));
      demand(
        named.get('machine') === HOSTNAME_HINT && named.get('version') === APP_VERSION,
        'The fragment of release_url does not have the label and the version of the request.',
      );
    },
  },
  {
    title: 'No refused activation counts as a machine in use',
    run: async (service) => {
      // The first activation of the run, from before the refusals of the checks above.
      const { answer: first } = await successfulActivation(service);
      const last = await service.activate();
      demand(last.status === 200, `${describeAnswer(last)}, not 200.`);
      const used = [first, last].map(({ json }) => at(json, 'license', 'machines_in_use'));
      demand(
        used[0] === used[1],
        `machines_in_use was ${formatValue(used[0])} and is now ${formatValue(used[1])}.`,
      );
    },
  },
];

/** Returns the refusal of an activation above the machine limit: of the machine of this run, or else of another machine. */
async function refusalAboveLimit(service: Deployment): Promise<Answer> {
  const first = await firstActivation(service).catch(() => undefined);
  if (first && at(first.json, 'code') === 'machine_limit_reached') return first;
  const { answer } = await successfulActivation(service);
  const [used, allowed] = ['machines_in_use', 'machines_allowed'].map((name) =>
    at(answer.json, 'license', name),
  );
  if (!(Number(used) >= Number(allowed)))
    throw new NotChecked(
      'not possible while the license allows more machines: use a license for a single machine',
    );
  const machine_id = createHash('sha256').update('mooring conformance, one too many').digest('hex');
  return service.activate({ machine_id });
}
