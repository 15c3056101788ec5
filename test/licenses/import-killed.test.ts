import type { ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { Browser } from '../license-portal/harness.js';
import { Service } from '../support/harness.js';
import { importFromBench } from '../support/import-from-bench.js';
import { OpenTransaction } from '../support/open-transaction.js';
import { CLI, Terminal } from '../support/processes/cli-harness.js';
import { printedSeed } from '../support/seed.js';

// MOORING_SEED=… repeats the files; the moments of the kills vary.
const seed = printedSeed();

/** Two and a half batches. */
const ROWS = 5_000;
/** The longest time after a stored batch until the command is killed. */
const MAX_DELAY_MS = 200;

interface GeneratedLicense {
  readonly key: string;
  readonly email: string;
  readonly transaction: string | null;
  /** The status that the import gives it. The new key of an active license is mailed. */
  readonly becomes: string;
}

const service = await Service.start();
const terminal = Terminal.beside(service);

const countLicenses = async () =>
  (await service.sql<{ count: number }>('select count(*)::int from license'))[0]!.count;

/** Lets each batch but the first wait while another transaction has locked the gate. */
const CREATE_GATE = `
  create function test_gate() returns trigger language plpgsql as $$
  begin
    if exists (select from license) then perform pg_advisory_xact_lock(1); end if;
    return null;
  end $$;
  create trigger test_gate before insert on license execute function test_gate()`;
const LOCK_GATE = 'select pg_advisory_xact_lock(1)';

/**
 * Starts the import, and kills it after a wait. @param waitFor has the running command, and the promise of its end
 * @returns its exit code; null if it was killed before its end
 */
async function importAndKill(
  file: string,
  waitFor: (child: ChildProcess, ended: Promise<unknown>) => Promise<void>,
): Promise<number | null> {
  const child = terminal.start(CLI, ['license', 'import', file, '--from', 'gumroad']);
  const ended = Promise.all([once(child, 'close'), text(child.stdout!), text(child.stderr!)]);
  await waitFor(child, ended);
  child.kill('SIGKILL');
  const [[code]] = await ended;
  return code as number | null;
}

test('an import that is killed is continued by starting it again: no license is lost, none is imported twice', async () => {
  const { makeExport } = await importFromBench('import/exports.mjs');
  const file = makeExport('gumroad', { rows: ROWS, seed }) as { text: string; licenses: GeneratedLicense[] };
  const { licenses } = file;
  writeFileSync(terminal.file('sales.csv'), file.text);
  await service.sql(CREATE_GATE);
  const gate = await OpenTransaction.begin(service, LOCK_GATE);
  expect(await importAndKill('sales.csv', (_child, ended) => gate.untilWaiting(ended))).toBeNull();
  await gate.commit();
  const before = await countLicenses();
  expect([before > 0, before < ROWS]).toEqual([true, true]);
  // The second kill comes at any moment after another batch, perhaps after the end.
  await importAndKill('sales.csv', async (child) => {
    while (child.exitCode === null && (await countLicenses()) === before) await wait(10);
    await wait(randomInt(MAX_DELAY_MS));
  });
  const last = await terminal.json(['license', 'import', 'sales.csv', '--from', 'gumroad']);
  expect(last.imported + last.already_imported).toBe(ROWS);
  const again = await terminal.json(['license', 'import', 'sales.csv', '--from', 'gumroad']);
  expect(again).toMatchObject({ imported: 0, already_imported: ROWS, refused: 0, mails: 0 });

  const expected = licenses.map(({ email, transaction, becomes }) =>
    [email, transaction, becomes, becomes === 'active'].join(),
  );
  const rows = await service.sql(
    `select l.email, p.transaction_id, case when p.state = 'refunded' then p.state else l.staff_status end as status,
       l.new_key_mailed_at is not null as mailed from license l join purchase p on p.id = l.purchase_id`,
  );
  expect(rows.map((row) => Object.values(row).join()).toSorted()).toEqual(expected.toSorted());
  // A mail that is sent meanwhile has no job any more.
  const [mails] = await service.sql<{ jobs: number }>(
    `select count(*)::int as jobs from graphile_worker._private_jobs where key like 'license_key_imported %'`,
  );
  expect(mails!.jobs).toBeLessThanOrEqual(licenses.filter(({ becomes }) => becomes === 'active').length);

  for (const { key, email } of licenses.filter((_license, i) => i % 250 === 0))
    expect(
      (await new Browser(service).call('POST', '/session', { email, license_key: key.toLowerCase() })).status,
    ).toBe(204);
});
