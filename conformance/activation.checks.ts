import { demand, type Check } from './check.ts';
import { HOSTNAME_HINT, MACHINE_ID, type Deployment } from './deployment.ts';
import type { Answer } from './http.ts';
import { withLookalikes, unknownLookalikeKey } from './license-keys.ts';
import { firstActivation, refusalReason, successfulActivation } from './first-activation.ts';
import { NotChecked } from './not-checked.ts';
import { at, demandJson, demandMembers, demandRefusal, formatValue, describeAnswer } from './shape.ts';
import { demandSevenDays } from './timers.ts';

/** Activates the same machine again, and demands the existing activation. */
async function activateAgain(service: Deployment, change: Record<string, unknown> = {}): Promise<Answer> {
  const { id } = await successfulActivation(service);
  const answer = await service.activate(change);
  demand(answer.status === 200, `${describeAnswer(answer)}, not 200.`);
  const other = at(answer.json, 'activation', 'id');
  demand(other === id, `The answer has the activation ${formatValue(other)}, not ${formatValue(id)}.`);
  return answer;
}

const upperHex = MACHINE_ID.toUpperCase();

export const activationChecks: readonly Check[] = [
  {
    title: 'An activation is answered with 201, or with 200 if the machine is already activated',
    run: async (service) => {
      const answer = await firstActivation(service);
      const reason = refusalReason(answer);
      if (reason) throw new NotChecked(reason);
      demand(
        answer.status !== 404,
        `${describeAnswer(answer)}: check the license key, the e-mail address and the URL.`,
      );
      demandJson(answer, 200, 201);
    },
  },
  {
    title: 'The answer has the token, offline_until, server_time and heartbeat_after_seconds',
    run: async (service) => {
      const { answer } = await successfulActivation(service);
      demandMembers(answer.json, {
        token: 'token',
        offline_until: 'time',
        heartbeat_after_seconds: 'count',
        server_time: 'time',
      });
    },
  },
  {
    title: 'offline_until is 7 days after server_time, and the next heartbeat is due before offline_until',
    run: async (service) => demandSevenDays((await successfulActivation(service)).answer.json),
  },
  {
    title: 'The answer has the activation: id (a UUIDv7), activated_at and hostname_hint',
    run: async (service) => {
      const { answer } = await successfulActivation(service);
      demandMembers(answer.json, {
        'activation.id': 'id',
        'activation.activated_at': 'time',
        'activation.hostname_hint': 'hostnameHint',
      });
    },
  },
  {
    title: 'The answer has the license: status active, expires_at or null, machines allowed and in use',
    run: async (service) => {
      const { answer } = await successfulActivation(service);
      demandMembers(answer.json, {
        'license.status': 'active',
        'license.expires_at': 'timeOrNull',
        'license.machines_allowed': 'count',
        'license.machines_in_use': 'count',
      });
    },
  },
  {
    title: 'A second activation of the machine is answered with 200, the same id and the same activated_at',
    run: async (service) => {
      const { answer } = await successfulActivation(service);
      const [first, second] = [answer, await activateAgain(service)].map(({ json }) =>
        at(json, 'activation', 'activated_at'),
      );
      demand(first === second, `activated_at became ${formatValue(second)} and was ${formatValue(first)}.`);
    },
  },
  {
    title: 'Concurrent activations are answered with the same activation',
    run: async (service) => {
      await successfulActivation(service);
      await Promise.all([activateAgain(service), activateAgain(service), activateAgain(service)]);
    },
  },
  {
    title: 'A machine id in upper case is the same machine',
    run: async (service) => void (await activateAgain(service, { machine_id: upperHex })),
  },
  {
    title: 'Space around the key and the e-mail address is ignored, and so is their case',
    run: async (service) => {
      const { license_key, email } = service.license;
      const typedVariant = {
        license_key: ` \t${license_key.toLowerCase()}\n`,
        // Only ASCII letters: `toUpperCase` makes SS of ß, which is another address.
        email: ` ${email.replaceAll(/[a-z]/g, (letter) => letter.toUpperCase())}\t`,
      };
      await activateAgain(service, typedVariant);
    },
  },
  {
    title: "Crockford's look-alikes in a key are accepted: O for 0, I and L for 1",
    run: async (service) => {
      const { license_key } = service.license;
      const unknown = await service.activate({ license_key: unknownLookalikeKey(license_key) });
      // 404 shows that the look-alikes were read: an unreadable key would be answered with 422.
      demandRefusal(unknown, 404, 'license_not_found');
      if (withLookalikes(license_key) !== license_key)
        await activateAgain(service, { license_key: withLookalikes(license_key) });
    },
  },
  {
    title: 'hostname_hint is never changed by a later activation',
    run: async (service) => {
      const { answer } = await successfulActivation(service);
      await activateAgain(service, { hostname_hint: `${HOSTNAME_HINT}, renamed` });
      const hints = [answer, await activateAgain(service)].map(({ json }) =>
        at(json, 'activation', 'hostname_hint'),
      );
      demand(hints[0] === hints[1], `It was ${formatValue(hints[0])} and became ${formatValue(hints[1])}.`);
    },
  },
  {
    title: 'A blank hostname_hint counts as missing and is no error',
    run: async (service) => void (await activateAgain(service, { hostname_hint: ' \t\u00a0 ' })),
  },
  {
    title: 'Unknown members of an activation are ignored',
    run: async (service) => {
      const answer = await activateAgain(service, { conformance: { unknown: ['conformance-canary'] } });
      demand(
        !answer.body.includes('conformance-canary'),
        'The answer repeats the value of an unknown member.',
      );
    },
  },
];
