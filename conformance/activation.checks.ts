import { demand, NotChecked, type Check } from './check.ts';
import { HOSTNAME_HINT, MACHINE_ID, type Deployment } from './deployment.ts';
import type { Answer } from './http.ts';
import { lookalike, unknownLookalikeKey } from './license-keys.ts';
import { firstActivation, refusal, seat } from './seat.ts';
import { at, demandJson, demandMembers, demandRefusal, shown, described } from './shape.ts';
import { demandSevenDays } from './timers.ts';

/** Activates once more, and demands the seat there is already. */
async function again(service: Deployment, change: Record<string, unknown> = {}): Promise<Answer> {
  const { id } = await seat(service);
  const answer = await service.activate(change);
  demand(answer.status === 200, `${described(answer)}, not 200.`);
  const other = at(answer.json, 'activation', 'id');
  demand(other === id, `It gave activation ${shown(other)}, not ${shown(id)} again.`);
  return answer;
}

const upperHex = MACHINE_ID.toUpperCase();

export const activationChecks: readonly Check[] = [
  {
    title: 'A first activation answers 201, that of a machine which has a binding 200',
    run: async (service) => {
      const answer = await firstActivation(service);
      const refused = refusal(answer);
      if (refused) throw new NotChecked(refused);
      demand(
        answer.status !== 404,
        `${described(answer)}: is it the license key, and the e-mail address, of this service?`,
      );
      demandJson(answer, 200, 201);
    },
  },
  {
    title: 'The answer holds a token, until when it holds offline, and when to call again',
    run: async (service) => {
      const { answer } = await seat(service);
      demandMembers(answer.json, {
        token: 'token',
        offline_until: 'time',
        heartbeat_after_seconds: 'count',
        server_time: 'time',
      });
    },
  },
  {
    title: 'A token holds 7 days offline, and the next heartbeat is due before that',
    run: async (service) => demandSevenDays((await seat(service)).answer.json),
  },
  {
    title: 'The answer tells the activation: a UUIDv7, since when, and under which label',
    run: async (service) => {
      const { answer } = await seat(service);
      demandMembers(answer.json, {
        'activation.id': 'id',
        'activation.activated_at': 'time',
        'activation.hostname_hint': 'hint',
      });
    },
  },
  {
    title: 'The answer tells the license: active, its expiry or null, machines allowed and in use',
    run: async (service) => {
      const { answer } = await seat(service);
      demandMembers(answer.json, {
        'license.status': 'active',
        'license.expires_at': 'timeOrNull',
        'license.machines_allowed': 'count',
        'license.machines_in_use': 'count',
      });
    },
  },
  {
    title: 'The same machine again answers 200 with the same activation, since the same moment',
    run: async (service) => {
      const { answer } = await seat(service);
      const [first, second] = [answer, await again(service)].map(({ json }) =>
        at(json, 'activation', 'activated_at'),
      );
      demand(first === second, `activated_at became ${shown(second)} and was ${shown(first)}.`);
    },
  },
  {
    title: 'Called concurrently, it still answers with the same activation',
    run: async (service) => {
      await seat(service);
      await Promise.all([again(service), again(service), again(service)]);
    },
  },
  {
    title: 'A machine id in upper case is the same machine',
    run: async (service) => void (await again(service, { machine_id: upperHex })),
  },
  {
    title: 'Key and e-mail are read kindly: space around them, and either case',
    run: async (service) => {
      const { license_key, email } = service.license;
      const kindly = {
        license_key: ` \t${license_key.toLowerCase()}\n`,
        email: ` ${email.toUpperCase()}\t`,
      };
      await again(service, kindly);
    },
  },
  {
    title: "Crockford's look-alikes in a key are read kindly: O for 0, I and L for 1",
    run: async (service) => {
      const { license_key } = service.license;
      const unknown = await service.activate({ license_key: unknownLookalikeKey(license_key) });
      demandRefusal(unknown, 404, 'license_not_found');
      if (lookalike(license_key) !== license_key)
        await again(service, { license_key: lookalike(license_key) });
    },
  },
  {
    title: 'hostname_hint is never changed by a later activation',
    run: async (service) => {
      const { answer } = await seat(service);
      await again(service, { hostname_hint: `${HOSTNAME_HINT}, renamed` });
      const hints = [answer, await again(service)].map(({ json }) => at(json, 'activation', 'hostname_hint'));
      demand(hints[0] === hints[1], `It was ${shown(hints[0])} and became ${shown(hints[1])}.`);
    },
  },
  {
    title: 'A blank hostname_hint means none, and is no error',
    run: async (service) => void (await again(service, { hostname_hint: ' \t\u00a0 ' })),
  },
  {
    title: 'Unknown members of an activation are ignored',
    run: async (service) => {
      const answer = await again(service, { conformance: { unknown: ['conformance-canary'] } });
      demand(!answer.body.includes('conformance-canary'), 'The answer repeats what an unknown member held.');
    },
  },
];
