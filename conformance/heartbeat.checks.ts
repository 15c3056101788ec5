import { demand, NotChecked, once, type Check } from './check.ts';
import type { Deployment } from './deployment.ts';
import { FORGERIES } from './forged-tokens.ts';
import type { Answer } from './http.ts';
import { seat } from './seat.ts';
import { at, demandInvalid, demandJson, demandMembers, demandRefusal, described } from './shape.ts';
import { demandSevenDays } from './timers.ts';

/** The heartbeat as most clients send it: without telemetry. */
export const plainHeartbeat = once(async (service) => service.heartbeat((await seat(service)).token));

async function good(service: Deployment): Promise<Answer> {
  await seat(service);
  const answer = await plainHeartbeat(service).catch(() => {
    throw new NotChecked('the first heartbeat was not answered');
  });
  if (answer.status !== 200)
    throw new NotChecked(`there is no good heartbeat to look at: ${described(answer)}`);
  return answer;
}

const invalid =
  (what: string, pointers: string[], change: Record<string, unknown>): Check['run'] =>
  async (service) =>
    demandInvalid(await service.heartbeat('conformance', change), what, ...pointers);

export const heartbeatChecks: readonly Check[] = [
  {
    title: 'A heartbeat answers 200 with a new token, its times, and the license',
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
    title: 'The new token holds 7 days offline, and the next heartbeat is due before that',
    run: async (service) => demandSevenDays((await good(service)).json),
  },
  {
    title: 'Without telemetry in the request there is none in the answer',
    run: async (service) =>
      demand(at((await good(service)).json, 'telemetry') === undefined, 'The answer has a telemetry member.'),
  },
  {
    title: 'The refreshed token works',
    run: async (service) => {
      const token = at((await good(service)).json, 'token');
      demandJson(await service.heartbeat(token), 200);
    },
  },
  {
    title: 'The token before it goes on working: a lost answer costs nothing',
    run: async (service) => {
      await good(service);
      demandJson(await service.heartbeat((await seat(service)).token), 200);
    },
  },
  {
    title: 'Unknown members of a heartbeat are ignored',
    run: async (service) => {
      const { token } = await seat(service);
      const unknown = { conformance: ['conformance-canary'], hostname_hint: 7 };
      const answer = await service.heartbeat(token, unknown);
      demandJson(answer, 200);
      demand(!answer.body.includes('conformance-canary'), 'The answer repeats what an unknown member held.');
    },
  },
  ...FORGERIES.map(({ what, make }): Check => ({
    title: `${what} is token_invalid, and the client activates again`,
    run: async (service) => {
      const { token } = await seat(service);
      demandRefusal(await service.heartbeat(make(token)), 403, 'token_invalid');
    },
  })),
  {
    title: 'A text of 2 KiB that is no token is token_invalid too',
    run: async (service) =>
      demandRefusal(await service.heartbeat('conformance'.padEnd(2048, '.')), 403, 'token_invalid'),
  },
  {
    title: 'A token over 2 KiB is 422 at /token',
    run: invalid('A token of 2049 characters', ['/token'], { token: 'conformance'.padEnd(2049, '.') }),
  },
  {
    title: 'An empty token is 422 at /token',
    run: invalid('An empty token', ['/token'], { token: '' }),
  },
  {
    title: 'Missing members of a heartbeat are all named',
    run: invalid('An empty object', ['/token', '/app_version'], { token: undefined, app_version: undefined }),
  },
  {
    title: 'A wrong app_version of a heartbeat is 422 at /app_version',
    run: invalid('An app_version with a letter', ['/app_version'], { app_version: 'v3.2-conformance' }),
  },
];
