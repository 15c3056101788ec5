// npm run bench:model: random scenarios of licenses on two instances, compared with a model of the contract.
import { runLonger } from './run-tests.mjs';

await runLonger(['test/model/model.test.ts']);
