import { createHash } from 'node:crypto';
import { demand, NotChecked, type Check } from './check.ts';
import type { Deployment } from './deployment.ts';
import type { Answer } from './http.ts';
import { mistypedKey, unknownKey } from './license-keys.ts';
import { firstActivation, seat } from './seat.ts';
import { at, demandInvalid, demandMembers, demandRefusal, shown, described } from './shape.ts';

/** Well-formed, and of no license: a service that accepts such a body by mistake binds nothing. */
const unknownLicense = (service: Deployment) => ({
  license_key: unknownKey(service.license.license_key),
  email: 'unknown@conformance.invalid',
});
const HEX = 'c0'.repeat(32);

/** How each member can be wrong. */
const WRONG: Record<string, Record<string, unknown>> = {
  license_key: { 'of five groups': 'MOOR_E6S7-Z8KJ-TB3R-QKX6-QKX6', 'of three groups': 'MOOR_E6S7-Z8KJ-TB3R' },
  email: { 'without an @': 'conformance.invalid', 'of 255 characters': `${'a'.repeat(245)}@a.invalid` },
  machine_id: { 'of 63 digits': HEX.slice(1), 'a raw UUID': '00000000-0000-4000-8000-000000000000' },
  hostname_hint: { 'of 101 characters': 'x'.repeat(101) },
  app_version: { 'with a letter': 'v3.2-conformance', 'of five parts': '1.2.3.4.5' },
};

const REQUIRED = ['license_key', 'email', 'machine_id', 'app_version'];
const MEMBERS = [...REQUIRED, 'hostname_hint'];

/** Sends every one of these members wrong in one way, and demands that all are named. */
async function demandAll(service: Deployment, what: string, names: string[], value: unknown): Promise<void> {
  const answer = await service.activate(Object.fromEntries(names.map((name) => [name, value])));
  demandInvalid(answer, what, ...names.map((name) => `/${name}`));
}

const memberChecks = Object.entries(WRONG).map(([member, ways]): Check => ({
  title: `A wrong ${member} is 422 at /${member}`,
  run: async (service) => {
    for (const [way, value] of Object.entries(ways)) {
      const answer = await service.activate({ ...unknownLicense(service), [member]: value });
      demandInvalid(answer, `${member} ${way}`, `/${member}`);
    }
  },
}));

/** What both refusals of an unknown license must have in common: all but the id of the request. */
function comparable({ status, headers, body, json }: Answer): string {
  const id = at(json, 'request_id');
  const text = body.toString('utf8');
  const same = typeof id === 'string' && id ? text.replaceAll(id, '') : text;
  return JSON.stringify([status, headers['content-type'], headers['cache-control'], same]);
}

export const activationRefusalChecks: readonly Check[] = [
  {
    title: 'Members that are missing are all named, each by its JSON pointer',
    run: (service) => demandAll(service, 'An empty object', REQUIRED, undefined),
  },
  {
    title: 'Members that are no text are all named',
    run: (service) => demandAll(service, 'Numbers in place of texts', MEMBERS, 7),
  },
  {
    title: 'A NUL in a member is 422, never a 500',
    run: (service) => demandAll(service, 'Texts with a NUL', MEMBERS, 'conformance\0'),
  },
  {
    title: 'An unpaired surrogate in a member is 422, never a 500',
    run: (service) => demandAll(service, 'Texts with half a surrogate pair', MEMBERS, 'conformance\ud83d'),
  },
  ...memberChecks,
  {
    title: 'A typing error in a key is found by its check symbol: 422 at /license_key',
    run: async (service) => {
      const license_key = mistypedKey(service.license.license_key);
      const answer = await service.activate({ ...unknownLicense(service), license_key });
      demandInvalid(answer, 'A key with a typing error', '/license_key');
    },
  },
  {
    title: 'An unknown key and the e-mail address of someone else are one answer, byte for byte',
    run: async (service) => {
      const { license_key, email } = unknownLicense(service);
      const [unknown, foreign] = [await service.activate({ license_key }), await service.activate({ email })];
      demandRefusal(unknown, 404, 'license_not_found');
      demandRefusal(foreign, 404, 'license_not_found');
      demand(
        comparable(unknown) === comparable(foreign),
        'The two answers differ, so they tell which it was.',
      );
    },
  },
  {
    title: 'One machine too many is 409, with machines_allowed, machines_in_use and portal_url',
    run: async (service) => {
      const answer = await tooMany(service);
      demandRefusal(answer, 409, 'machine_limit_reached');
      demandMembers(answer.json, { machines_allowed: 'count', machines_in_use: 'count' });
      const portal = at(answer.json, 'portal_url');
      demand(
        typeof portal === 'string' && /^https?:\/\/\S+\/portal\/$/.test(portal),
        `portal_url is ${shown(portal)}.`,
      );
    },
  },
  {
    title: 'None of all this took a second seat',
    run: async (service) => {
      const { answer } = await seat(service);
      const last = await service.activate();
      demand(last.status === 200, `${described(last)}, not 200.`);
      const used = [answer, last].map(({ json }) => at(json, 'license', 'machines_in_use'));
      demand(used[0] === used[1], `machines_in_use was ${shown(used[0])} and is now ${shown(used[1])}.`);
    },
  },
];

/** The refusal of a machine for which there is no seat: the first, or another where the first took the last one. */
async function tooMany(service: Deployment): Promise<Answer> {
  const first = await firstActivation(service).catch(() => undefined);
  if (first && at(first.json, 'code') === 'machine_limit_reached') return first;
  const { answer } = await seat(service);
  const [used, allowed] = ['machines_in_use', 'machines_allowed'].map((name) =>
    at(answer.json, 'license', name),
  );
  if (!(Number(used) >= Number(allowed)))
    throw new NotChecked('the license has free seats; one for a single machine shows it');
  const machine_id = createHash('sha256').update('mooring conformance, one too many').digest('hex');
  return service.activate({ machine_id });
}
