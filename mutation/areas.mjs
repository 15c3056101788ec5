// The areas of mutation testing: the mutated files, the tests that must detect the mutants, and the minimum score in
// percent. The file is long, because it is a table of files.

const unitTests = (...names) => names.map((name) => `test/unit/${name}.test.ts`);
const tests = (...names) => names.map((name) => `test/${name}.test.ts`);

/** Excludes the unit test that needs a PostgreSQL, for areas without one. */
const WITHOUT_DATABASE_TESTS = ['!test/unit/vectors-service.test.ts'];

/** Excludes files without logic. */
const WITHOUT_DECLARATIONS = ['!src/*/*.module.ts', '!src/*/*.entity.ts'];

/**
 * Each area is a separate run of Stryker. Its tests are fast ones that can detect a mutant in its files. With `hasDatabase`
 * a PostgreSQL is started for them.
 */
export const AREAS = {
  keys: {
    minimum: 95,
    mutate: ['src/keys/**/*.ts', '!src/keys/keys.controller.ts', '!src/keys/keys.module.ts'],
    tests: [
      ...unitTests('encrypted-private-key', 'key-material', 'key-ring', 'license-key', 'license-keys'),
      ...unitTests(
        'license-token',
        'mailed-secrets',
        'previous-key',
        'publish',
        'rotation',
        'signed-manifest',
        'signer-check',
        'purchase-ids',
      ),
      ...unitTests('vectors-*'),
      ...WITHOUT_DATABASE_TESTS,
    ],
  },
  rules: {
    minimum: 95,
    mutate: [
      'src/*/*.rules.ts',
      'src/activation/activation-attempt.ts',
      'src/activation/token-response.ts',
      'src/heartbeat/primary-positions.ts',
      'src/http/limits/token-bucket.ts',
      'src/core/field.ts',
      'src/fields/*.ts',
      'src/manifest/{coverage,published-versions}.ts',
      'src/retention/cutoff.ts',
      'src/telemetry/{daily-limit,suppress-small-cells}.ts',
    ],
    tests: [
      ...unitTests(
        'cutoff',
        'email',
        'fields',
        'suppress-small-cells',
        'license-rules',
        'manifest-coverage',
        'manifest-coverage-histories',
      ),
      ...unitTests('positions', 'publish', 'small-rules', 'token-bucket', 'vectors-*', 'version-coverage'),
      ...WITHOUT_DATABASE_TESTS,
    ],
  },
  client: {
    minimum: 95,
    mutate: ['client/src/*.ts'],
    // Left out: year.test.ts takes twenty seconds, privacy.test.ts counts the source lines, which mutants change, and
    // readme.test.ts needs a database.
    tests: [
      'test/client/*.test.ts',
      '!test/client/{privacy,readme,year}.test.ts',
      ...unitTests('vectors-*'),
      ...WITHOUT_DATABASE_TESTS,
    ],
  },
  telemetry: {
    minimum: 95,
    mutate: ['src/telemetry/{personal-data,decoded-forms,value-rules}.ts'],
    tests: [
      ...tests('docs/privacy', 'telemetry/disguises', 'telemetry/members', 'telemetry/personal'),
      ...unitTests('personal'),
    ],
    hasDatabase: true,
  },
  activation: {
    minimum: 85,
    mutate: [
      'src/activation/*.ts',
      '!src/activation/{activation-attempt,token-response}.ts',
      'src/releases/{release.service,self-releases}.ts',
      ...WITHOUT_DECLARATIONS,
    ],
    // Left out: races.test.ts takes half a minute to test a function of the database, which is not mutated.
    tests: [
      ...tests(
        'activation/*',
        'faults/clock-jump',
        'licenses/machine-changes',
        'license-portal/former-holder',
        'license-portal/licenses',
      ),
      ...tests(
        'license-portal/releases',
        'retention/license-end',
        'support-api/release*',
        'support-api/search',
      ),
      '!test/activation/races.test.ts',
    ],
    hasDatabase: true,
  },
  heartbeat: {
    minimum: 85,
    mutate: [
      'src/heartbeat/*.ts',
      '!src/heartbeat/primary-positions.ts',
      'src/telemetry/telemetry.store.ts',
      ...WITHOUT_DECLARATIONS,
    ],
    // Left out, because they would take minutes for each surviving mutant: faults/replica.test.ts, which runs a real
    // replica, and writes-nothing.test.ts, which starts a database server of its own.
    tests: [
      ...tests(
        'faults/clock-jump',
        'heartbeat/*',
        'telemetry/telemetry',
        'telemetry/limit',
        'faults/wrong-database',
      ),
      ...unitTests('replica-interleavings'),
      '!test/heartbeat/writes-nothing.test.ts',
    ],
    hasDatabase: true,
  },
  licenses: {
    minimum: 85,
    mutate: ['src/licenses/*.ts', '!src/licenses/{license-end,license.rules}.ts', ...WITHOUT_DECLARATIONS],
    // Left out: tests that run commands in separate processes, which run the build and so contain no mutant.
    tests: [
      ...tests(
        'activation/replaced',
        'faults/clock-jump',
        'licenses/import-rows',
        'licenses/key-settings',
        'licenses/service',
      ),
      ...tests(
        'license-portal/former-holder',
        'purchases/purchases',
        'purchases/replays',
        'support-api/idempotency-key',
        'support-api/licenses',
        'faults/wrong-database',
      ),
      ...unitTests('mail-texts', 'license-import'),
    ],
    hasDatabase: true,
  },
  purchases: {
    minimum: 85,
    mutate: ['src/purchases/*.ts', '!src/purchases/*.rules.ts', ...WITHOUT_DECLARATIONS],
    tests: tests('erasure/restore', 'purchases/purchases', 'purchases/{body,replays,signature,states}'),
    hasDatabase: true,
  },
  events: {
    minimum: 85,
    mutate: ['src/events/*.ts', ...WITHOUT_DECLARATIONS],
    tests: tests('events/{delivery,facts,pauses,sender,stored}'),
    hasDatabase: true,
  },
  manifest: {
    minimum: 85,
    mutate: [
      'src/manifest/*.ts',
      'src/http/parsing/if-none-match.ts',
      '!src/manifest/{coverage,manifest.rules,published-versions}.ts',
      ...WITHOUT_DECLARATIONS,
    ],
    tests: tests('manifest/manifest', 'manifest/from-memory', 'manifest/service', 'heartbeat/versions'),
    hasDatabase: true,
  },
  retention: {
    minimum: 85,
    mutate: [
      'src/retention/*.ts',
      '!src/retention/cutoff.ts',
      'src/telemetry/{inbox,partitions,roll-up}.ts',
      'src/licenses/license-end.ts',
      'src/support/fleet/*.rules.ts',
      ...WITHOUT_DECLARATIONS,
    ],
    tests: [
      ...tests(
        'events/facts',
        'faults/clock-jump',
        'retention/file-rewrite',
        'telemetry/fleet',
        'telemetry/fleet-crashes',
        'telemetry/crash-group-states',
        'retention/policy',
        'docs/privacy',
      ),
      ...tests('retention/latest-run', 'retention/retention', 'retention/rewrite', 'retention/run'),
      ...unitTests('retention-job'),
      ...tests('retention/{deletion,edge,ended-licenses,left-behind,license-end,overdue,wrong-end}'),
    ],
    hasDatabase: true,
  },
  erasure: {
    minimum: 85,
    mutate: ['src/erasure/*.ts', '!src/erasure/erasures.*.ts', ...WITHOUT_DECLARATIONS],
    tests: [
      ...tests(
        'erasure/erasure',
        'erasure/{holder,queue,restore,restore-orders,shared-orders,staff,tombstones}',
        'license-portal/data',
      ),
      ...unitTests('erasure-records', 'erasure-replay', 'mail-texts', 'tombstones'),
    ],
    hasDatabase: true,
  },
  passkeys: {
    minimum: 85,
    mutate: ['src/staff/passkeys/*.ts', ...WITHOUT_DECLARATIONS],
    tests: tests('staff/{passkeys,session}'),
    hasDatabase: true,
  },
  guards: {
    minimum: 85,
    mutate: [
      'src/**/*.guard.ts',
      '!src/purchases/*.ts',
      'src/http/sessions/{same-origin,sessions,token-hash}.ts',
    ],
    tests: [
      ...tests(
        'http/guards',
        'license-portal/sessions',
        'staff/session',
        'staff/staff',
        'support-api/release',
      ),
      ...unitTests('same-origin'),
    ],
    hasDatabase: true,
  },
};
