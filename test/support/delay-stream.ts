import { Transform } from 'node:stream';

/** Passes on what comes through, in order: each piece so many milliseconds after the one before it has gone. */
export function late(milliseconds: () => number): Transform {
  return new Transform({
    transform(chunk, _encoding, done) {
      const wait = milliseconds();
      if (wait === 0) done(null, chunk);
      else setTimeout(done, wait, null, chunk);
    },
  });
}
