// Finds a Chromium for tests, pictures and a bench: that of CHROMIUM_PATH, that of a package from npm, or an installed one.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const INSTALLED_PATHS = [
  ...['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'].map(
    (name) => `/usr/bin/${name}`,
  ),
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];
const PACKAGE_FOLDER = fileURLToPath(new URL('../node_modules/@sparticuz/chromium', import.meta.url));
const CACHE_FOLDER = fileURLToPath(new URL('../node_modules/.cache/mooring', import.meta.url));

/** @returns the options for `chromium.launch` of playwright-core */
export async function findChromium() {
  // The default arguments of the package from npm are not used: its --single-process crashes.
  const args = ['--no-sandbox', '--disable-gpu'];
  const { CHROMIUM_PATH } = process.env;
  if (CHROMIUM_PATH) return { executablePath: CHROMIUM_PATH, args };
  // The package has no code for windows on a screen: a page takes half the processor time that it takes in an installed Chromium.
  if (process.platform === 'linux' && process.arch === 'x64') return packagedChromium(args);
  const executablePath = INSTALLED_PATHS.find((path) => existsSync(path));
  if (executablePath) return { executablePath, args };
  throw new Error('No Chromium found: install Chrome or Chromium, or set CHROMIUM_PATH to its path.');
}

async function packagedChromium(args) {
  const folder = await unpackChromium();
  // The package contains the libraries and fonts that a minimal system lacks.
  const env = {
    ...process.env,
    LD_LIBRARY_PATH: join(folder, 'al2023/lib'),
    FONTCONFIG_FILE: writeFontConfiguration(folder),
  };
  return { executablePath: join(folder, 'chromium'), args, env };
}

/** Writes a font configuration, because that of the package expects fonts in /tmp; without fonts a page has no text. */
function writeFontConfiguration(folder) {
  const file = join(CACHE_FOLDER, 'fonts.conf');
  const [fonts, cache] = [join(folder, 'fonts'), join(CACHE_FOLDER, 'fontconfig')];
  writeFileSync(file, `<fontconfig><dir>${fonts}</dir><cachedir>${cache}</cachedir></fontconfig>\n`);
  return file;
}

/** Unpacks the package once. Simultaneous calls unpack to separate folders, and the first result is kept. */
async function unpackChromium() {
  const { version } = JSON.parse(readFileSync(join(PACKAGE_FOLDER, 'package.json'), 'utf8'));
  const folder = join(CACHE_FOLDER, `chromium-${version}`);
  if (existsSync(folder)) return folder;
  mkdirSync(CACHE_FOLDER, { recursive: true });
  const temporaryFolder = mkdtempSync(join(CACHE_FOLDER, 'unpacking-'));
  const { TMPDIR } = process.env;
  try {
    // The package always unpacks to TMPDIR.
    process.env.TMPDIR = temporaryFolder;
    const { default: bundled, inflate } = await import('@sparticuz/chromium');
    await bundled.executablePath();
    await inflate(join(PACKAGE_FOLDER, 'bin/al2023.tar.br'));
    if (!existsSync(folder)) renameSync(temporaryFolder, folder);
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
    rmSync(temporaryFolder, { recursive: true, force: true });
  }
  return folder;
}
