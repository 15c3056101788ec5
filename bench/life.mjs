// npm run bench:life: random lives of licenses against two instances, held against a plain model of the contract.
import { longForm } from './long.mjs';

await longForm(['test/model/life.test.ts']);
