/**
 * The kinds of requests that are measured, each with its title in the result tables, the servers that answer it, the expected
 * status and the goals: how many times as fast as another server the service should be. bench/README.md describes the
 * servers other than `service`.
 */
export const REQUEST_KINDS = {
  heartbeat: {
    title: 'heartbeat without telemetry',
    servers: ['service', 'plain', 'idiomatic', 'minimal'],
    status: 200,
    goals: { plain: 4, idiomatic: 10 },
  },
  telemetry: {
    title: 'heartbeat with telemetry',
    servers: ['service', 'plain', 'idiomatic', 'minimal'],
    status: 200,
    goals: { plain: 4 },
  },
  manifest: {
    title: 'manifest, 200',
    servers: ['service', 'minimal', 'constant'],
    status: 200,
    goals: { constant: 0.95 },
  },
  manifest_304: {
    title: 'manifest, 304',
    servers: ['service', 'minimal', 'constant'],
    status: 304,
    goals: { constant: 0.95 },
  },
  portal: {
    title: 'portal, list of licenses',
    servers: ['service', 'plain', 'idiomatic'],
    status: 200,
    goals: { plain: 1.2 },
  },
  activate_new: {
    title: 'activation, a new machine',
    servers: ['service', 'plain', 'idiomatic'],
    status: 201,
    goals: { plain: 2 },
  },
  activate_again: {
    title: 'activation, repeated',
    servers: ['service', 'plain', 'idiomatic'],
    status: 200,
    goals: { plain: 4 },
  },
  search: { title: 'support, search by e-mail', servers: ['service'], status: 200, goals: {} },
};
