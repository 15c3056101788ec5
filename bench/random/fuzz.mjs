// npm run bench:fuzz: tokens, manifests, webhooks, requests and bytes on the wire, made wrong at random.
import { longForm } from './run-tests.mjs';

await longForm(['test/fuzz/', 'test/http/hostile-corpus']);
