import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import type { Command } from 'commander';
import { createProgram } from '../../src/cli/program.js';
import { filesOfWorkingCopy } from './working-copy.js';
import { settingNames } from '../support/setting-names.js';

const read = (path: string) => readFileSync(path, 'utf8');
/**
 * The pages whose names are checked. Decisions may name what no longer exists, the lists of packages are generated, and the
 * programs in docs/purchases/ contain many names of payment processors.
 */
const isPage = (path: string) =>
  /^(README\.md|CONTRIBUTING\.md|docs\/(?!decisions\/|licenses\.md|dependencies\.md|purchases(?:\.md|\/)).*\.md)$/.test(
    path,
  );
const pages = filesOfWorkingCopy(isPage);
/**
 * The files in which a name of a page must occur: all code and configuration except these tests. So a name that only a bench or a
 * script has counts as existing.
 */
const sources = filesOfWorkingCopy(
  (path) =>
    /\.(ts|tsx|mjs|sql|yaml|yml|json|cfg|py)$|Dockerfile|\.env\.example$/.test(path) &&
    !/^(test\/docs|package-lock)/.test(path),
)
  .map(read)
  .join('\n');

/** The names of a page that are in code font and have this shape, each once. */
function namesOf(text: string, shape: RegExp): string[] {
  const code = [...text.matchAll(/```[^]*?```|`[^`\n]+`/g)].map(([each]) => each).join('\n');
  return [...new Set([...code.matchAll(shape)].map(([name]) => name))];
}

/**
 * Names in the pages that are not names of Mooring: settings, tools and functions of other programs (PostgreSQL, poolers,
 * proxies, cluster managers, Prometheus, Node, Windows, a KMS), parts of example license keys, an example role and table, and
 * `snake_case`.
 */
const FOREIGN_NAMES = new Set(
  `archive_timeout create_hypertable default_pool_size hot_standby hot_standby_feedback ignore_startup_parameters
   max_connections max_standby_streaming_delay older_than pg_archivecleanup pg_ctl pg_dump pg_receivewal pg_restore
   pg_upgrade pg_verifybackup query_start recovery_target_action recovery_target_time synchronous_standby_names
   checkpoint_timeout connect_address loop_wait maximum_lag_on_failover number_sync_standbys pg_autoctl pg_rewind retry_timeout
   last_archived_time last_failed_time primary_start_timeout synchronous_mode target_session_attrs use_pg_rewind use_slots
   access_log error_log limit_req proxy_set_header rule_files snake_case
   mach_absolute_time mach_continuous_time
   CERT_NOT_YET_VALID CLOCK_MONOTONIC EC_SIGN_ED25519 KEY_WOW64_64KEY NODE_EXTRA_CA_CERTS SELF_SIGNED_CERT_IN_CHAIN
   ACME_7K2M ACME_C5PB mooring_backup telemetry_new`.split(/\s+/),
);

/** The names of a page that no source has. */
const unknownNames = (text: string, shape: RegExp) =>
  namesOf(text, shape).filter(
    (name) =>
      !FOREIGN_NAMES.has(name) && !new RegExp(`(?<![A-Za-z0-9_])${name}(?![A-Za-z0-9_])`).test(sources),
  );

const SETTING = /(?<![\w$])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?!\w)/g;
const SNAKE_CASE = /(?<![\w/.-])[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?![\w(])/g;

test.each(pages)('every setting, code, column and metric with an underscore that %s names exists', (page) => {
  expect([...unknownNames(read(page), SETTING), ...unknownNames(read(page), SNAKE_CASE)]).toEqual([]);
});

test('a name that does not exist is found', () => {
  expect(unknownNames('`PLANTED_SETTING` and `PUBLIC_URL`', SETTING)).toEqual(['PLANTED_SETTING']);
  expect(unknownNames('`planted_code`, `license_not_found`', SNAKE_CASE)).toEqual(['planted_code']);
});

test('every setting of the service is documented', () => {
  const names = [...settingNames()];
  expect(names).toEqual(expect.arrayContaining(['PORT', 'LOGO_FILE']));
  expect(names.length).toBeGreaterThan(30);
  const words = new Set([...pages.map(read), read('.env.example')].join('\n').match(/[A-Z_0-9]+/g));
  expect(names.filter((name) => !words.has(name))).toEqual([]);
});

/** The names of the subcommands of each command, by the name of the command. */
const commands = new Map<string, readonly string[]>();
const namesIn = (command: Command) => command.commands.flatMap((each) => [each.name(), ...each.aliases()]);
for (const name of namesIn(await createProgram([]))) {
  const program = await createProgram([name]);
  commands.set(name, namesIn(program.commands.find((each) => each.name() === name)!));
}

/** The commands that a text names as `mooring …` and that do not exist. */
function findUnknownCommands(text: string): string[] {
  return [
    ...text.matchAll(
      /(?<=^\s*|[`>]|run |with |&& |--silent )mooring(?: --)? ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?(?![\w@.])/gm,
    ),
  ]
    .filter(([, first, second]) => {
      const subcommands = commands.get(first!);
      return (
        !subcommands || (second !== undefined && subcommands.length > 0 && !subcommands.includes(second))
      );
    })
    .map(([each]) => each);
}

test.each(pages)('every command that %s names exists', (page) => {
  const code = [...read(page).matchAll(/```[^]*?```|`[^`\n]+`/g)].map(([each]) => each).join('\n');
  expect(findUnknownCommands(code)).toEqual([]);
});

test('every command that a message or a comment names exists', () => {
  const texts = filesOfWorkingCopy((path) => /^(src|web|client\/src)\/.*\.tsx?$/.test(path));
  const wrong = texts.flatMap((path) => findUnknownCommands(read(path)).map((each) => `${path}: ${each}`));
  expect(wrong).toEqual([]);
});

test('a command that does not exist is found', () => {
  expect(
    findUnknownCommands('`mooring manifest renew`, `mooring manifest refresh`, `mooring nothing`'),
  ).toEqual(['mooring manifest renew', 'mooring nothing']);
});
