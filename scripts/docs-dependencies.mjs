// npm run docs:dependencies: writes docs/dependencies.md from package.json (also those of judges/ and mutation/),
// dependency-reasons.mjs, the lock file and the installed files.
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { command, ensureInstalled, root } from './prepare.mjs';
import { SEPARATELY_INSTALLED, BINARIES, REASONS } from './dependency-reasons.mjs';
import { closure, locked } from './shipped.mjs';

const INTRODUCTION = `# Dependencies

Written by \`npm run docs:dependencies\`; a test keeps it current. Each direct dependency needs a reason
in \`scripts/dependency-reasons.mjs\`, and is removed when the reason no longer holds. How dependencies are chosen, updated
and audited is described in [CONTRIBUTING](../CONTRIBUTING.md#dependencies), the licenses in [licenses.md](licenses.md).

## Dependencies of the service
`;

const COLUMNS_EXPLAINED = `
*brings*: the packages that it installs, itself included, and their size on disk. *alone*: those of them that no other
dependency needs.
`;

const SEPARATELY_INSTALLED_SECTION = `## Packages that \`npm run judges\` and \`npm run mutation\` install

\`judges/\` and \`mutation/\` each have a separate lock file and \`node_modules\`: \`npm ci\` in the root installs none of these
packages, and no release contains any of them. No install script runs there ([CONTRIBUTING](../CONTRIBUTING.md#judges-from-outside)).
`;

/** @returns the text of docs/dependencies.md */
export function dependenciesAsMarkdown() {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const names = Object.keys(dependencies);
  const all = closure(names);
  const total = `${names.length} direct ones bring ${all.size} packages, ${megabytes(all)} MB.`;
  return [
    `${INTRODUCTION}\n${total}\n${COLUMNS_EXPLAINED}`,
    table(['package', 'brings', 'MB', 'alone', 'MB', 'for'], serviceRows(names, all)),
    '## Packages for the pages, the build and the tests\n',
    table(['package', 'for'], Object.keys(devDependencies).map(titleAndReason)),
    '## Binaries for development\n',
    `${BINARIES.map(({ packages, reason }) => `- \`${packages}\`: ${reason}`).join('\n')}\n`,
    SEPARATELY_INSTALLED_SECTION,
    table(['package', 'installed by', 'for'], Object.keys(SEPARATELY_INSTALLED).flatMap(separateRows)),
  ].join('\n');
}

function serviceRows(names, all) {
  return names.map((name) => {
    const brought = closure([name]);
    const without = closure(names.filter((other) => other !== name));
    const alone = [...all].filter((entry) => !without.has(entry));
    const [title, reason] = titleAndReason(name);
    return [title, brought.size, megabytes(brought), alone.length, megabytes(alone), reason];
  });
}

const titleAndReason = (name) => [`${name} ${locked.get(`node_modules/${name}`).version}`, REASONS[name]];

function separateRows(folder) {
  const { devDependencies } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  const version = (name, range) => (range.startsWith('file:') ? name : `${name} ${range}`);
  return Object.entries(devDependencies).map(([name, range]) => [
    version(name, range),
    `\`npm run ${folder}\``,
    SEPARATELY_INSTALLED[folder][name],
  ]);
}

/** @returns the size of the files of these packages, in millions of bytes */
function megabytes(entries) {
  const bytes = [...entries].reduce((sum, { path }) => sum + bytesOf(join(root, path)), 0);
  return (bytes / 1e6).toFixed(1);
}

function bytesOf(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name !== 'node_modules') // Nested packages are counted separately.
    .map((file) => join(folder, file.name))
    .reduce((sum, path) => sum + (statSync(path).isDirectory() ? bytesOf(path) : statSync(path).size), 0);
}

function table(head, rows) {
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return `${lines.join('\n')}\n`;
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  await command(async () => {
    await ensureInstalled();
    writeFileSync(new URL('../docs/dependencies.md', import.meta.url), dependenciesAsMarkdown());
    return 0;
  });
}
