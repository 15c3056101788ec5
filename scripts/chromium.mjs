// A Chromium for tests and pictures: the one that CHROMIUM_PATH names, one that is installed, else the one that npm brings.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const INSTALLED = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'].map(
  (name) => `/usr/bin/${name}`,
);
const MAC = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome';
const PACKAGE = fileURLToPath(new URL('../node_modules/@sparticuz/chromium', import.meta.url));
const CACHE = fileURLToPath(new URL('../node_modules/.cache/mooring', import.meta.url));

/** What `chromium.launch` of playwright-core takes. */
export async function findChromium() {
  // --single-process, which the one from npm comes with, crashes.
  const args = ['--no-sandbox', '--disable-gpu', '--no-zygote'];
  const installed = [process.env.CHROMIUM_PATH, ...INSTALLED, MAC].find((path) => path && existsSync(path));
  if (installed) return { executablePath: installed, args };
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new Error('No Chromium found: install Chrome or Chromium, or name one in CHROMIUM_PATH.');
  const folder = await unpacked();
  // It brings the libraries and the fonts that a bare machine lacks.
  const env = {
    ...process.env,
    LD_LIBRARY_PATH: join(folder, 'al2023/lib'),
    FONTCONFIG_FILE: fontsOf(folder),
  };
  return { executablePath: join(folder, 'chromium'), args, env };
}

/** The package's own configuration looks for its fonts in /tmp: without any font a page shows no text. */
function fontsOf(folder) {
  const file = join(CACHE, 'fonts.conf');
  const [fonts, cache] = [join(folder, 'fonts'), join(CACHE, 'fontconfig')];
  writeFileSync(file, `<fontconfig><dir>${fonts}</dir><cachedir>${cache}</cachedir></fontconfig>\n`);
  return file;
}

/** Unpacks once; of two that come at the same time, each unpacks its own and one of them stays. */
async function unpacked() {
  const { version } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'));
  const folder = join(CACHE, `chromium-${version}`);
  if (existsSync(folder)) return folder;
  mkdirSync(CACHE, { recursive: true });
  const own = mkdtempSync(join(CACHE, 'unpacking-'));
  const { TMPDIR } = process.env;
  try {
    // The package knows no other place to unpack to.
    process.env.TMPDIR = own;
    const { default: bundled, inflate } = await import('@sparticuz/chromium');
    await bundled.executablePath();
    await inflate(join(PACKAGE, 'bin/al2023.tar.br'));
    if (!existsSync(folder)) renameSync(own, folder);
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
    rmSync(own, { recursive: true, force: true });
  }
  return folder;
}
