import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { temporaryFolder } from '../support/folders.js';
import { importFromBench } from '../support/import-from-bench.js';
import { afterThisFile } from '../support/of-this-file.js';

/*
 * Simulates a day of 200 clients with outages, an update, refunds and releases, and plants one fault after it: an acknowledged
 * activation is deleted. The seed is printed; MOORING_SEED=… repeats a run.
 */

const SEED = process.env['MOORING_SEED'] ?? String(randomInt(1, 2 ** 31));
console.info(`MOORING_SEED=${SEED}`);
const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = temporaryFolder();

// The simulated day takes 0.04 minutes.
const args = ['--clients', '200', '--days', '1', '--seed', SEED, '--minutes', '0.04'];
const variables = { TMPDIR: folder, MOORING_SIMULATE_PLANT: 'lost-activation' };
const child = spawn(process.execPath, ['bench/simulation/simulate.mjs', ...args], {
  cwd: root,
  env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...variables },
});
const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
afterThisFile(() => (child.kill('SIGINT'), ended));
const [page, output, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
if (!page) throw new Error(`The simulation with seed ${SEED} did not complete: ${output}`);

/** Finds the table of the page whose header row begins with these cells. @returns the rows below the header */
function tableOf(...head: string[]): string[][] {
  const tables = page.split('\n\n').filter((block) => block.startsWith('|'));
  const rows = tables.map((block) =>
    block.split('\n').map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    ),
  );
  return rows.find(([first]) => head.every((cell, i) => first![i] === cell))?.slice(2) ?? [];
}

const parseCount = (cell: string | undefined) => Number(cell?.replaceAll(',', ''));

test('a day with two outages has no wrong response, and loses no acknowledged activation but the deleted one', () => {
  expect(page).toContain('Every response matched the expected state.');
  const [lost, ...others] = tableOf('', 'seen', 'wrong');
  expect(others.length).toBeGreaterThanOrEqual(7);
  expect(others.filter(([, , wrong]) => wrong !== '0')).toEqual([]);
  expect(lost).toEqual(['every acknowledged activation is there', expect.any(String), '1']);
});

test('a difference from the expected state is reported, and ends the simulation with exit code 1', async () => {
  expect(page).toContain('There are differences from the expected state');
  expect(code).toBe(1);
  // The exit code is 0 if this function returns true.
  const { matchesExpectedState } = await importFromBench('simulation/report.mjs');
  const [checker, finding] = [{ findings: new Map() }, new Map([['a wrong response', 1]])];
  expect(matchesExpectedState({ checker, checks: [{ wrong: 0 }] })).toBe(true);
  expect(matchesExpectedState({ checker, checks: [{ wrong: 0 }, { wrong: 1 }] })).toBe(false);
  expect(matchesExpectedState({ checker: { findings: finding }, checks: [{ wrong: 0 }] })).toBe(false);
});

test('the reported numbers of responses add up, and every planned event happened', () => {
  const rows = tableOf('', 'answer', 'how many');
  const total = /: ([\d,]+) requests/.exec(page)?.[1];
  expect(rows.reduce((sum, [, , count]) => sum + parseCount(count), 0)).toBe(parseCount(total));
  const answers = rows.map(([route, answer]) => `${route}: ${answer}`);
  // Almost all of the 200 clients have activated, and the outages have caused failed calls.
  const activated = rows.filter(([route, answer]) => route === 'activation' && answer!.startsWith('20'));
  expect(activated.reduce((sum, [, , count]) => sum + parseCount(count), 0)).toBeGreaterThanOrEqual(190);
  expect(answers).toEqual(expect.arrayContaining(['heartbeat: 200', 'manifest: 200']));
  expect(answers.filter((answer) => answer.includes('no answer'))).not.toEqual([]);
  const events = tableOf('', 'simulated time (UTC)').map(([name]) => name);
  expect(events.join()).toBe(
    'service killed,reconnection,update,database killed,reconnection,refunds,releases',
  );
});

test('the chart is well-formed', () => {
  const [results] = readdirSync(folder).filter((name) => name.startsWith('mooring-simulation-'));
  const svg = readFileSync(join(folder, results!, 'simulation.svg'), 'utf8');
  expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  const open: string[] = [];
  for (const [, close, tag, alone] of svg.matchAll(/<(\/?)([a-z]+)(?:\s[^<>]*?)?(\/?)>/g)) {
    if (close) expect(open.pop()).toBe(tag);
    else if (!alone) open.push(tag!);
  }
  expect(open).toEqual([]);
  expect(svg.replaceAll(/<\/?[a-z]+(?:\s[\w:-]+="[^"<&]*")*\s*\/?>/g, '')).not.toMatch(/[<&]/);
});

test('a simulation leaves only its results in the temporary folder', () => {
  expect(readdirSync(folder).filter((name) => !name.startsWith('mooring-simulation-'))).toEqual([]);
});
