import { Transform } from 'node:stream';

/** A stream that passes its chunks on in order, each after a delay. */
export function late(milliseconds: () => number): Transform {
  return new Transform({
    transform(chunk, _encoding, done) {
      const wait = milliseconds();
      if (wait === 0) done(null, chunk);
      else setTimeout(done, wait, null, chunk);
    },
  });
}
