// Divides a CPU profile among the layers of the service, for `npm run bench -- --profile`.

/**
 * The layers, each with the places of its functions: packages, modules of Node, or folders of `dist`. The first that fits counts.
 */
const LAYERS = [
  ['signatures and hashes', /^node:internal\/crypto\/(sig|keys|hash)|^dist\/keys\/ed25519/],
  ['tokens: claims and text', /^dist\/(keys|activation\/token-response)/],
  ['garbage collection', /^\(garbage collector\)$/],
  ['PostgreSQL client', /^(pg|pg-[a-z]+|postgres-[a-z]+|typeorm)$|^dist\/database/],
  [
    'Fastify',
    /^(fastify|@fastify\/.+|find-my-way|secure-json-parse|avvio|light-my-request|fast-.+|ret|toad-cache|cookie)$/,
  ],
  ['Nest', /^@nestjs\/|^(rxjs|reflect-metadata)$/],
  ['parsing of members', /^dist\/(http\/parsing|fields|core\/field)/],
  [
    'log and counts',
    /^(pino|sonic-boom)$|^dist\/(core\/(logger|buffered-output|histogram|journal)|http\/responses)/,
  ],
  ['removal of headers', /^dist\/http\/strip-client-address/],
  ['limits', /^dist\/http/],
  ['other code of the service', /^dist\//],
  ['Node: HTTP, sockets, timers', /./],
];
/** The time of a function of Node counts for the layer that calls it if that is one of these, and otherwise for the last layer. */
const CALLERS = new Set(['signatures and hashes', 'PostgreSQL client']);

/**
 * @param profile the CPU profile of V8
 * @returns the share of each layer in the time in which the process was not idle, the largest first
 */
export function sharesOfLayers({ nodes, samples, timeDeltas }) {
  const layers = layersOfNodes(nodes);
  const times = new Map();
  let total = 0;
  samples.forEach((id, index) => {
    const layer = layers.get(id);
    if (layer === null) return;
    total += timeDeltas[index];
    times.set(layer, (times.get(layer) ?? 0) + timeDeltas[index]);
  });
  return [...times]
    .map(([layer, time]) => ({ layer, share: time / total }))
    .toSorted((a, b) => b.share - a.share);
}

/** Returns the layer of each node of the call tree by its id; null for the time without work. A node is listed after its caller. */
function layersOfNodes(nodes) {
  const layers = new Map();
  const callers = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  for (const { id, callFrame } of nodes) {
    if (callFrame.functionName === '(idle)') {
      layers.set(id, null);
      continue;
    }
    const own = layerOf(callFrame);
    const caller = layers.get(callers.get(id));
    layers.set(id, own === LAYERS.at(-1)[0] && CALLERS.has(caller) ? caller : own);
  }
  return layers;
}

function layerOf({ functionName, url }) {
  const place =
    /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ??
    /\/(dist\/.+)/.exec(url)?.[1] ??
    (url || functionName || 'native');
  return LAYERS.find(([, places]) => places.test(place))[0];
}
