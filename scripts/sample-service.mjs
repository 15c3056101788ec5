// A service with the sample data of development mode, for the pictures, the bench of the pages, the demo and the Python tests.
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { freePort } from './free-port.mjs';
import { node24, root, waitForExit } from './prepare.mjs';

/**
 * Starts a service in development mode on a free port, and ends it when `work` has ended.
 * @param {string} dataDir the folder for its database, keys and mails
 * @param work receives `{ origin, welcome, environment }`: the URL of the service, the text that it printed, and its settings
 * @param settings further settings
 * @returns the result of `work`
 */
export async function withSampleService(dataDir, work, settings = {}) {
  const port = String(await freePort());
  const environment = {
    PATH: process.env.PATH,
    NODE_ENV: 'development',
    DATA_DIR: dataDir,
    PORT: port,
    LOG_LEVEL: 'warn',
    ...settings,
  };
  const service = spawn(node24(), [join(root, 'dist/main.js')], {
    env: environment,
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  const end = waitForExit(service);
  try {
    // The last line of the welcome text (`src/server/welcome.ts`) names `--help`.
    const welcome = await waitForOutput(service.stderr, '--help');
    return await work({ origin: `http://localhost:${port}`, welcome, environment });
  } finally {
    service.kill('SIGTERM');
    await end;
  }
}

/** Runs `mooring … --json`. @param environment the settings of the service @returns the parsed output */
export function runMooring(environment, args) {
  const { status, stdout, stderr } = spawnSync(node24(), [join(root, 'dist/cli.js'), ...args, '--json'], {
    env: environment,
    encoding: 'utf8',
  });
  // `stderr` has hints too, such as that a token is shown only once.
  if (status !== 0) throw new Error(`mooring ${args.join(' ')} failed: ${stderr}`);
  return JSON.parse(stdout);
}

/** Waits until the output of a process contains a text. @returns all output so far */
function waitForOutput(stream, expectedText) {
  return new Promise((resolve, reject) => {
    let output = '';
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
      if (output.includes(expectedText)) resolve(output);
    });
    stream.once('end', () => reject(new Error(output || 'The service did not start.')));
  });
}
