// npm run bench:events: instances are killed at random moments, and the receiver fails half of the time; no event may be lost.
import { runLonger } from './run-tests.mjs';

await runLonger(['test/events/killed.test.ts'], { countOption: 'kills', defaultCount: 1_000 });
