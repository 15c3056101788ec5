import { createServer, type AddressInfo } from 'node:net';

type Environment = Readonly<Record<string, string | undefined>>;

const USUAL_PORT = 3000;
const TRIES = 100;

/**
 * Development on a machine where port 3000 is taken: the next free one, so that `npm start` just works. A port that is
 * given is never changed, but for 0, which asks for any: links must name the one that was found.
 */
export async function withFreePort(environment: Environment): Promise<Environment> {
  const { PORT: given, HOST: host = '127.0.0.1' } = environment;
  if (given === '0') return { ...environment, PORT: String(await freePort(0, host)) };
  if (given || environment['NODE_ENV'] === 'production') return environment;
  for (let port = USUAL_PORT; port < USUAL_PORT + TRIES; port += 1) {
    if (await freePort(port, host).catch(() => null)) return { ...environment, PORT: String(port) };
  }
  return environment;
}

/** The port where something can listen at this moment; 0 asks for any. Rejects where it is taken. */
export function freePort(port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(port, host, () => {
      const { port: found } = probe.address() as AddressInfo;
      probe.close(() => resolve(found));
    });
  });
}
