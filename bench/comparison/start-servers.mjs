import { checkAnswers } from '../load/checks.mjs';

/**
 * Starts the service and the servers that it is compared with, and checks that all answer as the service does.
 * @param processes starts the child processes
 * @param data the result of `makeData`
 * @returns the servers, and the etag of the manifest
 */
export async function startServers(processes, data) {
  const settings = { ...data.settings, MANIFEST_BODY: data.manifest };
  const servers = [
    await processes.startService(data.settings),
    await processes.startComparisonServer('plain', 'plain.mjs', settings),
    await processes.startComparisonServer('idiomatic', 'idiomatic.ts', settings),
    await processes.startComparisonServer('minimal', 'minimal.mjs', settings),
    await processes.startComparisonServer('constant', 'constant.mjs', settings),
  ];
  const manifest = await fetch(`http://127.0.0.1:${servers[0].port}/v1/manifest`);
  const etag = manifest.headers.get('etag');
  await checkAnswers(servers, { ...data, etag });
  return { servers, etag };
}
