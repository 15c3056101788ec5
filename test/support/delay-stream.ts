import { Transform } from 'node:stream';

/** Passes each chunk on in order, so many milliseconds after the one before it. */
export function late(milliseconds: () => number): Transform {
  return new Transform({
    transform(chunk, _encoding, done) {
      const wait = milliseconds();
      if (wait === 0) done(null, chunk);
      else setTimeout(done, wait, null, chunk);
    },
  });
}
