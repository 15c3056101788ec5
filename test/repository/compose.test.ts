import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { Config } from '../../src/core/config.js';
import { settingNames } from '../support/setting-names.js';

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

interface ComposeService {
  readonly image?: string;
  readonly read_only?: boolean;
  readonly mem_limit?: string;
  readonly security_opt?: string[];
  readonly cap_drop?: string[];
  readonly ulimits?: Readonly<Record<string, number>>;
  readonly profiles?: string[];
  readonly ports?: string[];
  readonly environment: Record<string, string>;
  readonly volumes: string[];
  readonly stop_grace_period?: string;
  readonly logging: { driver: string; options: Record<string, string> };
}

const text = read('docker-compose.yml');
const { services } = parse(text, { merge: true }) as { services: Record<string, ComposeService> };
const { service, second, operator, proxy, postgres } = services as Record<
  'service' | 'second' | 'operator' | 'proxy' | 'postgres',
  ComposeService
>;
/** The proxy's configuration without its comments. */
const configuration = read('deploy/haproxy.cfg').replaceAll(/^\s*#.*$/gm, '');
const names = (pattern: RegExp, content: string) =>
  new Set([...content.matchAll(pattern)].map(([, name]) => name!));

test('an instance is given every setting that it reads, except the data folder and the token of a publisher, and no other setting', () => {
  const settings = settingNames();
  expect(settings.size).toBeGreaterThan(30);
  expect(Object.keys(service.environment).filter((name) => !settings.has(name))).toEqual([]);
  // The default of DATA_DIR, `./data`, is the volume. On the server, `manifest publish` needs no token.
  expect([...settings].filter((name) => !(name in service.environment))).toEqual(['DATA_DIR', 'STAFF_TOKEN']);
});

test('each setting that .env may have is described in .env.example', () => {
  const documented = names(/^# ([A-Z_]+)=/gm, read('.env.example'));
  expect([...names(/\$\{([A-Z_]+)/g, text)].filter((name) => !documented.has(name))).toEqual([]);
});

test('without a profile there is one instance; with the proxy there are two that differ only in their published port', () => {
  expect(Object.keys(services).filter((name) => !services[name]!.profiles)).toEqual(['service', 'postgres']);
  const { ports: published, ...one } = service;
  const { ports: hidden, profiles, ...other } = second;
  expect(other).toEqual(one);
  expect([published, hidden, profiles]).toEqual([['127.0.0.1:3000:3000'], [], ['proxy']]);
  const grace = Number(/^(\d+)s$/.exec(service.stop_grace_period!)![1]);
  // After SHUTDOWN_DELAY_SECONDS, at most 60, a shutdown may take 10 seconds (src/server/serve.ts).
  expect(grace).toBeGreaterThan(60 + 10);
});

test('the proxy has its configuration, which takes the addresses of the instances from the environment', () => {
  const mounted = proxy.volumes.map((volume) => volume.split(':')[0]!);
  expect(mounted).toContain('./deploy/haproxy.cfg');
  expect(existsSync(new URL('../../deploy/haproxy.cfg', import.meta.url))).toBe(true);
  const wanted = names(/\$\{([A-Z_0-9]+)\}/g, configuration);
  expect(Object.keys(proxy.environment).filter((name) => !wanted.has(name))).toEqual([]);
  const { INSTANCE_1, INSTANCE_2 } = proxy.environment;
  expect([INSTANCE_1, INSTANCE_2]).toEqual(
    ['service', 'second'].map((name) => `${name}:${services[name]!.environment['PORT']}`),
  );
});

test('the proxy sends the pages, and the texts and brand that they load, to one instance, so that all have one version', () => {
  const ofOneInstance = /use-server one if \{ path_beg (.+) \}/.exec(configuration)![1]!.split(' ');
  const loaded = ['portal', 'privacy', 'support'].flatMap((page) =>
    [...names(/"\.\.(\/[\w-]+)[?"]/g, read(`web/${page}/index.html`))].concat(`/${page}`),
  );
  expect(loaded).toContain('/languages');
  expect(loaded.filter((path) => !ofOneInstance.includes(path))).toEqual([]);
});

test('each container has only the secrets that it needs, and only the container of the operator can change them', () => {
  const mounts = (of: ComposeService) => of.volumes.map((volume) => volume.split(':'));
  const secrets = (of: ComposeService) => mounts(of).filter(([from]) => from!.startsWith('./secrets'));
  const tokens = ['./secrets/mooring/tokens', service.environment['TOKEN_KEYS_DIR']!];
  expect(secrets(service)).toEqual([[...tokens, 'ro']]);
  expect(secrets(second)).toEqual([[...tokens, 'ro']]);
  expect(secrets(proxy)).toEqual([['./secrets/tls', '/tls', 'ro']]);
  expect(secrets(postgres)).toEqual([]);
  // A rotation writes keys, so only the container that an operator starts for one command may write.
  expect(secrets(operator)).toEqual([tokens]);
  expect(operator).toMatchObject({
    profiles: ['operator'],
    restart: 'no',
    ports: [],
    entrypoint: ['mooring'],
  });
  expect(operator.environment).toEqual(service.environment);
  const folder = service.environment['TOMBSTONE_FILE']!.replace(/\/[^/]+$/, '');
  for (const each of [service, second, operator])
    expect(mounts(each).filter(([from]) => !from!.startsWith('./secrets'))).toEqual([
      ['./tombstones', folder],
      ['data', '/app/data'],
    ]);
});

test('a container can write its volumes only (except the database), gets no further right, and has a limit of memory', () => {
  for (const each of [service, second, operator, proxy])
    expect(each).toMatchObject({
      read_only: true,
      mem_limit: expect.stringMatching(/^\d+m$/),
      security_opt: ['no-new-privileges:true'],
      cap_drop: ['ALL'],
    });
  expect(postgres).toMatchObject({ mem_limit: '2g', security_opt: ['no-new-privileges:true'] });
});

test('no container writes a core dump, which would contain secrets and rows of tables', () => {
  const limits = Object.entries(services).map(([name, { ulimits }]) => [name, ulimits]);
  expect(limits).toEqual(Object.keys(services).map((name) => [name, { core: 0 }]));
});

test('the image has the tag of the version, also in the instructions and in .env.example', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  for (const each of [service, second, operator])
    expect(each.image).toBe(`mooring:\${MOORING_VERSION:-${version}}`);
  expect(names(/\bmooring:([\d.]+)/g, text)).toEqual(new Set([version]));
  expect(read('.env.example')).toContain(`\n# MOORING_VERSION=${version}\n`);
});

test('the database gets only the password of the role that the service uses', () => {
  expect(postgres.environment).toEqual({ POSTGRES_PASSWORD: '${POSTGRES_PASSWORD:?set it in .env}' });
  expect(postgres.volumes).toContain('./deploy/postgres.sql:/docker-entrypoint-initdb.d/mooring.sql:ro');
});

test('the environment of an instance is valid in production, and leads to the database of compose without TLS', () => {
  const given: Record<string, string> = {
    POSTGRES_PASSWORD: 'a-password',
    PUBLIC_URL: 'https://licensing.example.com',
    PRODUCT: 'com.example.editor',
    LICENSE_KEY_SECRET: `${'A'.repeat(43)}=`,
    MANIFEST_PUBLIC_KEYS: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
  };
  const filled = (value: string) =>
    value.replaceAll(
      /\$\{(\w+):[-?]([^}]*)\}/g,
      (all, name: string, fallback: string) => given[name] ?? (all.includes(':?') ? '' : fallback),
    );
  const environment = Object.entries(service.environment).map(([name, value]) => [name, filled(value)]);
  const config = new Config(Object.fromEntries(environment) as Record<string, string>);
  expect(config.isProduction).toBe(true);
  expect(config.databaseUrl).toBe('postgres://mooring:a-password@postgres:5432/mooring?sslmode=disable');
});

test('the proxy forwards /v1/purchases only with PUBLISH_PURCHASES=yes', () => {
  const rule =
    /\.if strneq\("\$\{PUBLISH_PURCHASES\}","yes"\)\n +http-request return status 404 .* \/v1\/purchases \}\n\.endif\n/;
  expect(configuration.replaceAll(/^\n/gm, '')).toMatch(rule);
  expect(proxy.environment['PUBLISH_PURCHASES']).toBe('${PUBLISH_PURCHASES:-}');
});

/** The lines of a configuration that would log, count, store or forward the address of a caller, or show stored data. */
const linesAboutCallers = (lines: string) =>
  lines.match(
    /^\s*(log|stats|stick|capture|unique-id|email-alert)\b.*|.*\b(forwardfor|originalto|httplog|tcplog|forwarded|send-proxy|log-format|log-send|set-src|via)\b.*|.*\bsrc(_\w+)?\b.*/gim,
  ) ?? [];

test('the proxy logs no requests, and no line of its configuration uses the address of a caller', () => {
  expect(linesAboutCallers(configuration)).toEqual([]);
  expect(configuration).toMatch(/^ {2}no log$/m);
  for (const line of [
    'log stdout format raw local0',
    '  option forwardfor',
    '  option httplog',
    '  http-request set-header X-Real-IP %[src]',
    '  stick-table type ip size 1m',
    'server one a:1 send-proxy',
  ])
    expect(linesAboutCallers(`${configuration}\n${line}\n`)).toHaveLength(1);
});

test('the size of the logs of containers is limited', () => {
  for (const { logging } of [service, second, proxy, postgres])
    expect(logging).toMatchObject({ driver: 'local', options: { 'max-size': '10m', 'max-file': '5' } });
});
