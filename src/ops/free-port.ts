import { createServer } from 'node:net';

type Environment = Readonly<Record<string, string | undefined>>;

const USUAL_PORT = 3000;
const TRIES = 100;

/**
 * Development on a machine where port 3000 is taken: the next free one, so that `npm start` just works. A port that is
 * given is never changed, and production takes what it is told.
 */
export async function withFreePort(environment: Environment): Promise<Environment> {
  if (environment['PORT'] || environment['NODE_ENV'] === 'production') return environment;
  for (let port = USUAL_PORT; port < USUAL_PORT + TRIES; port += 1) {
    if (await isFree(port, environment['HOST'] ?? '127.0.0.1')) return { ...environment, PORT: String(port) };
  }
  return environment;
}

function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, host, () => probe.close(() => resolve(true)));
  });
}
