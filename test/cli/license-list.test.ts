import { expect, test } from '@jest/globals';
import { Terminal, type Run } from '../support/processes/cli-harness.js';
import { Service } from '../support/harness.js';

const ADA = 'ada@example.com';
const COUNT = 7;

/** The ids of Ada's licenses, the newest first. Other holders have licenses between them. */
const ids: string[] = [];
const service = await Service.start();
const terminal = Terminal.beside(service);
for (let i = 0; i < COUNT; i += 1) {
  ids.unshift((await service.issue({ email: ADA })).license_id);
  service.clock.advance(i % 2 === 0 ? 1_000 : 0);
  await service.issue({ email: `other${i}@example.com` });
}

interface Page {
  readonly licenses: { readonly license_id: string; readonly email: string; readonly status: string }[];
  readonly next_cursor: string | null;
}

/** Reads all pages of a command. @returns the ids of each page */
async function readPages(...args: string[]): Promise<string[][]> {
  const pages: string[][] = [];
  let cursor: string | null = null;
  do {
    const page: Page = await terminal.json([...args, ...(cursor === null ? [] : ['--cursor', cursor])]);
    pages.push(page.licenses.map(({ license_id }) => license_id));
    cursor = page.next_cursor;
  } while (cursor !== null);
  return pages;
}

/** The command that a page names for the next one, without the program's name. */
const nextCommand = ({ stdout }: Run) => /\n\nNext page: mooring (.+)\n$/.exec(stdout)?.[1]?.split(' ');

test('license list and license show EMAIL read each license once, in pages of --limit; the list has the newest first', async () => {
  for (const args of [
    ['license', 'list', '--email', 'Ada@Example.com'],
    ['license', 'show', ADA],
  ]) {
    const pages = await readPages(...args, '--limit', '3');
    expect(pages.map(({ length }) => length)).toEqual([3, 3, 1]);
    expect(pages.flat().toSorted()).toEqual(ids.toSorted());
  }
  const all = await readPages('license', 'list');
  expect(all).toHaveLength(1);
  expect(all[0]!.filter((id) => ids.includes(id))).toHaveLength(COUNT);
  expect(all[0]).toHaveLength(2 * COUNT);
  const created = (await terminal.json(['license', 'list'])).licenses.map(
    ({ created_at }: { created_at: string }) => created_at,
  );
  expect(created).toEqual(created.toSorted().toReversed());
});

test('a license that is issued between two pages shifts none of them', async () => {
  const args = ['license', 'list', '--email', 'late@example.com', '--limit', '1'];
  const [first, second] = [
    (await service.issue({ email: 'late@example.com' })).license_id,
    (await service.issue({ email: 'late@example.com' })).license_id,
  ];
  const page: Page = await terminal.json(args);
  await service.issue({ email: 'late@example.com' });
  const next: Page = await terminal.json([...args, '--cursor', page.next_cursor!]);
  expect([page, next].map(({ licenses }) => licenses[0]!.license_id).toSorted()).toEqual(
    [first, second].toSorted(),
  );
  expect(next.next_cursor).toBeNull();
});

test('the text of a page ends with the command for the next one, which works as it is', async () => {
  for (const args of [
    ['license', 'list', '--email', ADA, '--status', 'active', '--limit', '4'],
    ['license', 'show', ADA, '--limit', '4'],
  ]) {
    const first = await terminal.run(args);
    const next = nextCommand(first)!;
    expect(next.slice(0, 2)).toEqual(args.slice(0, 2));
    const second = await terminal.run(next);
    expect(second).toMatchObject({ code: 0, stderr: '' });
    expect(nextCommand(second)).toBeUndefined();
    const shown = (run: Run) => ids.filter((id) => run.stdout.includes(id));
    expect([shown(first).length, shown(second).length]).toEqual([4, COUNT - 4]);
  }
});

test('the command for the next page quotes the e-mail address of license show', async () => {
  const email = "o'brien@example.com";
  for (const _ of [1, 2]) await service.issue({ email });
  const { stdout } = await terminal.run(['license', 'show', email, '--limit', '1']);
  expect(stdout).toMatch(
    /\n\nNext page: mooring license show 'o'\\''brien@example\.com' --limit 1 --cursor \S+\n$/,
  );
});

test('license list filters by status, transaction and activation', async () => {
  await service.setLicense(ids[0]!, { staff_status: 'suspended' });
  const licensesOf = async (...args: string[]) =>
    ((await terminal.json(['license', 'list', ...args])) as Page).licenses.map(
      ({ license_id }) => license_id,
    );
  expect(await licensesOf('--status', 'suspended')).toEqual([ids[0]]);
  expect(await licensesOf('--email', ADA, '--status', 'active')).toHaveLength(COUNT - 1);
  const record = [
    'purchase',
    'record',
    '--transaction',
    'pi_42',
    '--status',
    'paid',
    '--email',
    'buyer@example.com',
  ];
  const { license_id } = await terminal.json(record);
  expect(await licensesOf('--transaction', 'pi_42')).toEqual([license_id]);
  const license = await service.issue({ email: 'active@example.com' });
  const { json } = await service.activate(license);
  expect(await licensesOf('--activation', json.activation.id)).toEqual([license.license_id]);
  expect(await licensesOf('--email', 'unknown@example.com')).toEqual([]);
  expect((await terminal.run(['license', 'list', '--email', 'unknown@example.com'])).stdout).toBe(
    'There are no such licenses.\n',
  );
  expect((await terminal.run(['license', 'list', '--status', 'suspended'])).stdout).toMatch(
    new RegExp(
      `^License +Status +Key +Machines +Expires +E-mail\n${ids[0]} +suspended +….. +0 of 1 +never +${ADA}\n$`,
    ),
  );
});

test.each([
  [1, 'No license has this e-mail address.', ['show', 'unknown@example.com']],
  [
    1,
    'The list of this e-mail address has no license after this cursor.',
    ['show', ADA, '--cursor', '0_0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6'],
  ],
  [2, '--limit and --cursor are for the licenses of an e-mail address.', ['show', 'pi_42', '--limit', '3']],
  [2, '--limit must be a whole number from 1 to 1000.', ['list', '--limit', '0']],
  [2, '--cursor must be the next_cursor of a page.', ['list', '--cursor', 'x']],
  [
    2,
    '--activation must be an id, such as 0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6.',
    ['list', '--activation', 'x'],
  ],
  [2, '--status must be one of active, suspended, revoked, refunded.', ['list', '--status', 'x']],
])('`license list` and `license show` fail with exit code %d: %s', async (code, sentence, args) => {
  const run = await terminal.run(['license', ...args, '--json']);
  expect(run).toMatchObject({ code, stdout: '', stderr: `${sentence}\n` });
});
