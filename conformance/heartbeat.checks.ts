import { demand, once, type Check } from './check.ts';
import { NOT_A_TOKEN, type Deployment } from './deployment.ts';
import { FORGERIES } from './forged-tokens.ts';
import type { Answer } from './http.ts';
import { successfulActivation } from './first-activation.ts';
import { NotChecked } from './not-checked.ts';
import { at, demandInvalid, demandJson, demandMembers, demandRefusal, describeAnswer } from './shape.ts';
import { demandSevenDays } from './timers.ts';

/** A heartbeat without telemetry. */
const plainHeartbeat = once(async (service) =>
  service.heartbeat((await successfulActivation(service)).token),
);

async function confirmedHeartbeat(service: Deployment): Promise<Answer> {
  // Without an activation this throws NotChecked with the reason for that, which is not the reason below.
  await successfulActivation(service);
  const answer = await plainHeartbeat(service).catch(() => {
    throw new NotChecked('the first heartbeat was not answered');
  });
  if (answer.status !== 200)
    throw new NotChecked(`there is no confirmed heartbeat to check: ${describeAnswer(answer)}`);
  return answer;
}

const demandInvalidHeartbeat =
  (what: string, pointers: string[], change: Record<string, unknown>): Check['run'] =>
  async (service) =>
    demandInvalid(await service.heartbeat(NOT_A_TOKEN, change), what, ...pointers);

export const heartbeatChecks: readonly Check[] = [
  {
    title: 'A heartbeat is answered with 200, a token, its times and the license',
    run: async (service) => {
      const answer = await plainHeartbeat(service);
      demandJson(answer, 200);
      demandMembers(answer.json, {
        token: 'token',
        offline_until: 'time',
        heartbeat_after_seconds: 'count',
        server_time: 'time',
        'license.status': 'active',
        'license.expires_at': 'timeOrNull',
      });
    },
  },
  {
    title:
      'offline_until of a heartbeat is 7 days after server_time, and the next heartbeat is due before offline_until',
    run: async (service) => demandSevenDays((await confirmedHeartbeat(service)).json),
  },
  {
    title: 'The answer has no telemetry member if the request has none',
    run: async (service) =>
      demand(
        at((await confirmedHeartbeat(service)).json, 'telemetry') === undefined,
        'The answer has a telemetry member.',
      ),
  },
  {
    title: 'The refreshed token works',
    run: async (service) => {
      const token = at((await confirmedHeartbeat(service)).json, 'token');
      demandJson(await service.heartbeat(token), 200);
    },
  },
  {
    title: 'The previous token still works, so a lost answer does no harm',
    run: async (service) => {
      await confirmedHeartbeat(service);
      demandJson(await service.heartbeat((await successfulActivation(service)).token), 200);
    },
  },
  {
    title: 'Unknown members of a heartbeat are ignored',
    run: async (service) => {
      const { token } = await successfulActivation(service);
      const unknown = { conformance: ['conformance-canary'], hostname_hint: 7 };
      const answer = await service.heartbeat(token, unknown);
      demandJson(answer, 200);
      demand(
        !answer.body.includes('conformance-canary'),
        'The answer repeats the value of an unknown member.',
      );
    },
  },
  ...FORGERIES.map(({ what, make }): Check => ({
    title: `${what} is refused with token_invalid, so that the client activates again`,
    run: async (service) => {
      const { token } = await successfulActivation(service);
      demandRefusal(await service.heartbeat(make(token)), 403, 'token_invalid');
    },
  })),
  {
    title: 'A text of 2 KiB that is not a token is refused with token_invalid too',
    run: async (service) =>
      demandRefusal(await service.heartbeat(NOT_A_TOKEN.padEnd(2048, '.')), 403, 'token_invalid'),
  },
  {
    title: 'A token over 2 KiB is refused with 422 at /token',
    run: demandInvalidHeartbeat('A token of 2049 characters', ['/token'], {
      token: NOT_A_TOKEN.padEnd(2049, '.'),
    }),
  },
  {
    title: 'An empty token is refused with 422 at /token',
    run: demandInvalidHeartbeat('An empty token', ['/token'], { token: '' }),
  },
  {
    title: 'All missing members of a heartbeat are listed',
    run: demandInvalidHeartbeat('An empty object', ['/token', '/app_version'], {
      token: undefined,
      app_version: undefined,
    }),
  },
  {
    title: 'A wrong app_version of a heartbeat is refused with 422 at /app_version',
    run: demandInvalidHeartbeat('An app_version with a letter', ['/app_version'], {
      app_version: 'v3.2-conformance',
    }),
  },
];
