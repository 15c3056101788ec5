// A steady load, a process of its own: node steady.mjs FILE. It receives over its channel a port and how many requests a second of
// each kind (`begin`), and sends them, whether they are answered or not: an open loop. Each `take` is answered with what came of the
// requests since the last one, `end` ends the asking; a request's time counts from when it was due, however late it went out.
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { kindsOf } from './kinds.mjs';

/** How often it looks what is due. */
const TICK_MS = 2;

const data = JSON.parse(readFileSync(process.argv[2], 'utf8'));
let asking;
let measurements;
let underWay = 0;

process.on('message', ({ begin, take, end }) => {
  if (begin) start(begin);
  if (end) clearInterval(asking);
  process.send(take ? taken() : {});
});
process.on('disconnect', () => process.exit(0));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(0));

function start({ port, etag, rates }) {
  measurements = fresh(Object.keys(rates));
  const { kinds } = kindsOf(port, { ...data, etag });
  const began = performance.now();
  // Not all kinds in the same instant.
  const asked = Object.entries(rates).map(([kind, rate]) => ({
    kind,
    rate,
    next: began + Math.random() * (1000 / rate),
  }));
  asking = setInterval(() => {
    const now = performance.now();
    for (const each of asked) {
      for (; each.next <= now; each.next += 1000 / each.rate)
        void ask(each.kind, kinds[each.kind], each.next);
    }
  }, TICK_MS);
}

async function ask(kind, request, due) {
  underWay += 1;
  const right = await request();
  underWay -= 1;
  // Asked before the last `take` and answered after it, it counts to those after.
  const { times, wrong } = measurements[kind];
  if (right === true) times.push(performance.now() - due);
  else wrong[right] = (wrong[right] ?? 0) + 1;
}

const fresh = (kinds) => Object.fromEntries(kinds.map((kind) => [kind, { times: [], wrong: {} }]));

function taken() {
  const result = { underWay, kinds: measurements };
  measurements = fresh(Object.keys(measurements));
  return result;
}
