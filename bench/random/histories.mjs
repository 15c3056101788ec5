// npm run bench:histories: concurrent clients of two instances while faults strike; each license's history is checked.
import { longForm } from './run-tests.mjs';

await longForm(['test/model/histories/faults.test.ts'], { counted: 'operations', standard: 10_000 });
