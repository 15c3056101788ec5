import { hash } from 'node:crypto';
import { open, readFile, writeFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { readImage } from '../../../src/cli/manifest/image.js';
import { progressBar } from '../../../src/cli/terminal/progress-bar.js';
import { parseSigned } from '../../../src/keys/manifests/signed-manifest.js';
import { WITHOUT_SERVER, Terminal } from '../../support/processes/cli-harness.js';
import { Random } from '../../client/random.js';

const MIB = 1 << 20;
const GIB = 1 << 30;
const SEED = 20_261_120;
/** The hash that `sha256sum` and `openssl dgst -sha256` print for the file of 3 GiB that the seed gives. */
const SHA256_OF_3_GIB = 'f5f62c9564e34fb5c41c35e0ebd44977cb1fdd4ad9c6c0a052f0f8572d6026a5';

const terminal = new Terminal(WITHOUT_SERVER);

/** Creates a sparse file, which takes little space: single bytes at positions that the seed gives, and at both ends. */
async function createSparseFile(name: string, bytes: number): Promise<string> {
  const random = new Random(SEED);
  await using file = await open(terminal.file(name), 'w');
  await file.truncate(bytes);
  const positions = Array.from({ length: 200 }, () => random.below(bytes));
  for (const position of [0, ...positions, bytes - 1])
    await file.write(Buffer.of(1 + random.below(255)), 0, 1, position);
  return terminal.file(name);
}

/** Prepares a manifest of an image in a separate process. @returns the manifest's `dmg`, and the peak memory of the process */
async function prepareManifest(image: string): Promise<{ dmg: object; peakBytes: number }> {
  // The process reports its own peak, because getrusage would include the peak of the process from which it was forked.
  const report = `import fs from 'node:fs';
    process.on('exit', () => {
      const own = fs.existsSync('/proc/self/status') && /VmHWM:\\s+(\\d+) kB/.exec(fs.readFileSync('/proc/self/status', 'utf8'));
      fs.writeSync(2, 'peak ' + (own ? own[1] : process.resourceUsage().maxRSS) + ' KiB\\n');
    });`;
  await writeFile(terminal.file('report.mjs'), report);
  const out = `${image}.prepared`;
  const options = ['--version', '1.0', '--url', 'https://dl.example.com/App.dmg', '--first', '--any-format'];
  const run = await terminal.run(['manifest', 'sign', '--dmg', image, ...options, '--prepare', out], {
    env: { NODE_OPTIONS: `--import=${pathToFileURL(terminal.file('report.mjs')).href}` },
  });
  expect(run).toMatchObject({ code: 0, stderr: expect.stringMatching(/^peak \d+ KiB\n$/) });
  const { dmg } = parseSigned(await readFile(out, 'utf8'));
  return { dmg, peakBytes: Number(/\d+/.exec(run.stderr)) * 1024 };
}

test('an image of 3 GiB gets the hash that other programs compute, in hardly more memory than one of 1 MiB', async () => {
  const [large, small] = [
    await createSparseFile('large.dmg', 3 * GIB),
    await createSparseFile('small.dmg', MIB),
  ];
  const { peakBytes: smallPeakBytes } = await prepareManifest(small);
  const { dmg, peakBytes } = await prepareManifest(large);
  expect(dmg).toEqual({ url: 'https://dl.example.com/App.dmg', size: 3 * GIB, sha256: SHA256_OF_3_GIB });
  expect(peakBytes).toBeLessThan(200 * MIB);
  expect(peakBytes - smallPeakBytes).toBeLessThan(40 * MIB);
});

test.each([1, MIB - 1, MIB, MIB + 1, 3 * MIB + 17])(
  'an image of %d bytes is hashed, and the progress is reported',
  async (bytes) => {
    const file = await createSparseFile('some.dmg', bytes);
    const lines: number[][] = [];
    const read = await readImage(file, (...progress) => lines.push(progress));
    expect(read).toEqual({ size: bytes, sha256: hash('sha256', await readFile(file)), isDiskImage: false });
    // The progress increases up to the size of the image.
    expect(lines.map(([done]) => done)).toEqual(lines.map(([done]) => done!).toSorted((a, b) => a - b));
    expect(lines.at(-1)).toEqual([bytes, bytes]);
  },
);

describe('the progress bar', () => {
  const createBar = ({ isTTY }: { isTTY: boolean }) => {
    const written: string[] = [];
    const stream = { isTTY, write: (piece: string) => written.push(piece) };
    return { written, show: progressBar('App.dmg', stream as unknown as typeof process.stderr) };
  };

  test('is drawn once for each percent, in one line, and removed at the end', () => {
    const { written, show } = createBar({ isTTY: true });
    for (let done = 0; done <= 1000; done++) show(done, 1000);
    expect(written).toHaveLength(101);
    expect(written[0]).toBe(`\rApp.dmg  ${' '.repeat(30)}   0 %`);
    expect(written[50]).toBe(`\rApp.dmg  ${'━'.repeat(15)}${' '.repeat(15)}  50 %`);
    expect(written[99]).toBe(`\rApp.dmg  ${'━'.repeat(29)}   99 %`);
    expect(written[100]).toBe('\r\u001b[K');
    expect(written.join('')).not.toContain('\n');
  });

  test('is not drawn if the output is no terminal', () => {
    const { written, show } = createBar({ isTTY: false });
    for (let done = 0; done <= 100; done++) show(done, 100);
    expect(written).toEqual([]);
  });
});
