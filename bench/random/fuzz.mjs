// npm run bench:fuzz: random invalid tokens, manifests, webhooks, requests and bytes on the wire.
import { runLonger } from './run-tests.mjs';

await runLonger(['test/fuzz/', 'test/http/hostile-corpus']);
