// npm run bench:model: random histories of licenses against two instances, held against a plain model of the contract.
import { longForm } from './run-tests.mjs';

await longForm(['test/model/model.test.ts']);
