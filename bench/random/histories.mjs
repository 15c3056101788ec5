// npm run bench:histories: concurrent clients of two instances while faults are injected; the history of each license is checked.
import { runLonger } from './run-tests.mjs';

await runLonger(['test/model/histories/faults.test.ts'], { countOption: 'operations', defaultCount: 10_000 });
