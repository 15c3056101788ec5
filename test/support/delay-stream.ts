import { Transform } from 'node:stream';

/** Creates a stream that passes its chunks on in order, each after a delay that begins when the one before it was passed on. */
export function createDelayStream(readDelayMs: () => number): Transform {
  return new Transform({
    transform(chunk, _encoding, done) {
      const delayMs = readDelayMs();
      if (delayMs === 0) done(null, chunk);
      else setTimeout(done, delayMs, null, chunk);
    },
  });
}
