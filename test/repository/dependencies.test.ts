import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';

interface Locked {
  readonly name?: string;
  readonly link?: boolean;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly hasInstallScript?: boolean;
}

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const script = <T>(name: string) =>
  import(new URL(`../../scripts/${name}`, import.meta.url).href) as Promise<T>;
const LOCK_FILES = ['package-lock.json', 'judges/package-lock.json', 'mutation/package-lock.json'];
const lock = JSON.parse(read('package-lock.json')) as { packages: Record<string, Locked> };

/** The installed packages of a lock file: the path and the entry of each. */
function lockedIn(file: string): [path: string, Locked][] {
  const { packages } = JSON.parse(read(file)) as { packages: Record<string, Locked> };
  return Object.entries(packages).filter(([path, { link }]) => path.includes('node_modules/') && !link);
}

/** The name under which each package is installed, and its own name if that differs. */
function namesIn(file: string): string[] {
  return lockedIn(file).flatMap(([path, { name }]) => [
    path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
    ...(name ? [name] : []),
  ]);
}

/** Packages that send data about users, operators or developers to a third party. */
const REPORTERS: readonly [kind: string, pattern: RegExp][] = [
  // Counts installations, by address and package, from an install script.
  ['install-time analytics', /^@scarf\/|(^|[/-])scarf$/],
  ['crash reports', /^@?(sentry|bugsnag|rollbar|honeybadger|raygun|airbrake|backtrace|trackjs)([/-]|$)/],
  ['crash reports', /^(raven|raven-js|crashlytics|bugsnag-js|raygun4js|error-?stack-?parser-reporter)$/],
  [
    'product analytics',
    /(^|[/-])analytics([.-]|$)|^@?(segment|posthog|mixpanel|amplitude|heap|rudderstack)([/-]|$)/,
  ],
  ['product analytics', /^(universal-analytics|insight|react-ga4?|ga-4-react|keen-(tracking|js)|snowplow)/],
  [
    'product analytics',
    /(google-analytics|(^|[/-])gtag|matomo|piwik|plausible|umami|countly|pendo|snowplow-tracker)/,
  ],
  [
    'session recordings',
    /(logrocket|fullstory|hotjar|smartlook|mouseflow|openreplay|rrweb|ms-clarity|clarity-js)/,
  ],
  [
    'agents of monitoring services',
    /^@?(newrelic|datadog|dynatrace|instana|elastic-apm|appdynamics|appsignal)([/-]|$)/,
  ],
  ['agents of monitoring services', /^(dd-trace|elastic-apm-node|applicationinsights|scout-apm|hot-shots)$/],
  [
    'agents of monitoring services',
    /^@(azure\/monitor|microsoft\/applicationinsights|vercel\/(analytics|speed-insights)|grafana\/faro)/,
  ],
  [
    'exporters of traces',
    /^@opentelemetry\/(exporter|otlp|auto-instr|sdk-node)|^@(google-cloud|azure)\/opentelemetry/,
  ],
  ['remote flags and experiments', /^@?(launchdarkly|statsig|optimizely|splitsoftware|growthbook)([/-]|$)/],
  // These packages send requests at run time, such as to the npm registry for a newer version.
  [
    'update checks of tools',
    /^(update-notifier|update-check|simple-update-notifier|opencollective|@nuxt\/telemetry)$/,
  ],
];

function reporter(name: string): string | undefined {
  return REPORTERS.find(([, pattern]) => pattern.test(name))?.[0];
}

describe('a package that reports to third parties', () => {
  test.each(LOCK_FILES)('is not in %s, neither as a direct nor as an indirect dependency', (file) => {
    const names = namesIn(file);
    expect(names.length).toBeGreaterThan(100);
    expect(names.filter(reporter).map((name) => `${name}: ${reporter(name)}`)).toEqual([]);
  });

  // The patterns must match known packages.
  test.each(
    [
      [
        '@scarf/scarf',
        '@sentry/node',
        '@sentry-internal/tracing',
        'posthog-node',
        'analytics-node',
        '@segment/analytics-node',
      ],
      [
        'mixpanel',
        'mixpanel-browser',
        '@amplitude/node',
        'amplitude-js',
        '@bugsnag/js',
        'bugsnag',
        'rollbar',
        'newrelic',
      ],
      [
        '@newrelic/native-metrics',
        'dd-trace',
        '@datadog/browser-rum',
        'applicationinsights',
        'google-analytics',
      ],
      [
        '@types/google-analytics',
        'universal-analytics',
        'matomo-tracker',
        'plausible-tracker',
        '@honeybadger-io/js',
      ],
      [
        'raygun',
        'raygun4js',
        'logrocket',
        '@fullstory/browser',
        'hotjar-react',
        '@vercel/analytics',
        'elastic-apm-node',
      ],
      [
        '@opentelemetry/exporter-trace-otlp-http',
        '@opentelemetry/auto-instrumentations-node',
        'react-ga4',
        'insight',
      ],
    ].flat(),
  )('is recognized: %s', (name) => expect(reporter(name)).toEqual(expect.any(String)));

  test.each([
    'pino',
    'semver',
    'path-scurry',
    'fast-check',
    '@fastify/under-pressure',
    'v8-to-istanbul',
    'has-tostringtag',
    'ws',
  ])('is not recognized in the name %s', (name) => expect(reporter(name)).toBeUndefined());
});

describe.each(LOCK_FILES)('the lock file %s', (file) => {
  const locked = lockedIn(file);

  test('contains no download address, so that each installation uses its own registry', () => {
    expect(locked.filter(([, { resolved }]) => resolved).map(([path]) => path)).toEqual([]);
  });

  test('contains the integrity of every package', () => {
    const without = locked.filter(
      ([, { integrity }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''),
    );
    expect(without.map(([path]) => path)).toEqual([]);
  });
});

test('the client has no dependency of any kind', () => {
  const manifest = Object.keys(JSON.parse(read('client/package.json')) as object);
  expect(manifest.filter((member) => /dependencies$/i.test(member))).toEqual([]);
  expect(Object.keys(lock.packages).filter((path) => path.startsWith('client/node_modules'))).toEqual([]);
});

describe.each(['judges', 'mutation'] as const)('the packages of npm run %s', (folder) => {
  const locked = lockedIn(`${folder}/package-lock.json`);
  const { devDependencies } = JSON.parse(read(`${folder}/package.json`)) as {
    devDependencies: Record<string, string>;
  };

  test('each have a reason', async () => {
    const { SEPARATELY_INSTALLED } = await script<{ SEPARATELY_INSTALLED: Record<typeof folder, object> }>(
      'dependency-reasons.mjs',
    );
    expect(Object.keys(SEPARATELY_INSTALLED[folder]).toSorted()).toEqual(
      Object.keys(devDependencies).toSorted(),
    );
  });

  test('are each named at one exact version, except a placeholder', () => {
    const ranges = Object.values(devDependencies).filter((range) => range !== 'file:no-scarf');
    expect(ranges.filter((range) => !/^\d+\.\d+\.\d+$/.test(range))).toEqual([]);
  });

  test('bring no install script, and would run none', () => {
    expect(locked.filter(([, { hasInstallScript }]) => hasInstallScript)).toEqual([]);
    expect(read(`${folder}/.npmrc`)).toMatch(/^ignore-scripts=true$/m);
  });

  test('have allowed licenses', async () => {
    const { ALLOWED_FOR_TOOLS } = await script<{ ALLOWED_FOR_TOOLS: string[] }>('docs-licenses.mjs');
    // These packages name MIT in an older form, which npm does not copy into the lock file.
    const old = /\/(compute-(gcd|lcm)|reserved|validate\.io-(function|integer|integer-array|number))$/;
    const wrong = locked.filter(
      ([path, { license }]) =>
        !ALLOWED_FOR_TOOLS.includes(license ?? 'none') && !(license === undefined && old.test(path)),
    );
    expect(wrong.map(([path, { license }]) => [path, license])).toEqual([]);
  });
});
