// npm run audit [-- --registry=…]: asks the registry which advisories exist for the packages of the lock file.
// Ends with 0 when nothing moderate or worse is known of what a release holds, with 1 when something is, and with 3
// when no answer came: then nothing was checked, which is neither success nor failure. What follows `--` goes to npm.
// No part of npm test, which makes no request beyond this machine.
import { command, step } from './prepare.mjs';
import { locked, shipped } from './shipped.mjs';

const SEVERITIES = ['critical', 'high', 'moderate', 'low', 'info'];
const FAILING = ['critical', 'high', 'moderate'];
const UNCHECKED = 3;

await command(async () => {
  const report = await ask(process.argv.slice(2));
  if (!report.vulnerabilities) {
    console.log(
      `Nothing was checked: the registry gave no list of advisories (${report.message ?? 'no reason given'}).`,
    );
    return UNCHECKED;
  }
  const held = shipped();
  const found = findings(report);
  const release = found.filter(({ id }) => held.has(id));
  print(`Known of the ${held.size} packages that a release holds`, release);
  print(
    'Known of what builds, tests and develops it',
    found.filter(({ id }) => !held.has(id)),
  );
  return release.some(({ severity }) => FAILING.includes(severity)) ? 1 : 0;
});

/** npm's own audit, of everything: this script chooses which findings count, because the pages bundle packages that npm lists as devDependencies. */
async function ask(options) {
  const everything = ['--package-lock-only', '--include=dev', '--include=optional', '--include=peer'];
  // Offline, npm makes no request and reports no vulnerability.
  const network = ['--no-offline', '--fetch-retries=0', '--fetch-timeout=30000'];
  const args = ['audit', '--json', '--loglevel=silent', ...everything, ...network, ...options];
  const { output } = await step('npm', args, { stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    return JSON.parse(output);
  } catch {
    return {};
  }
}

/** One row for each advisory and affected path in node_modules, without entries that only report a dependency on an affected package. */
function findings({ vulnerabilities }) {
  return Object.values(vulnerabilities)
    .flatMap(({ via, nodes, fixAvailable }) =>
      via
        .filter((advisory) => typeof advisory === 'object')
        .flatMap((advisory) =>
          nodes.map((path) => ({ ...advisory, path, fixAvailable, id: locked.get(path).id })),
        ),
    )
    .toSorted((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
}

function print(title, rows) {
  console.log(rows.length === 0 ? `${title}: nothing` : `${title}:`);
  const table = rows.map((row) => [
    row.severity,
    row.id,
    row.title,
    `affects ${row.range}`,
    fix(row),
    row.path,
    row.url,
  ]);
  const widths = table[0]?.map((_, column) => Math.max(...table.map((cells) => cells[column].length)));
  for (const cells of table)
    console.log(
      `  ${cells
        .map((cell, at) => cell.padEnd(widths[at]))
        .join('  ')
        .trimEnd()}`,
    );
}

function fix({ fixAvailable }) {
  if (fixAvailable === true) return 'fixed within its range';
  return fixAvailable ? `fixed by ${fixAvailable.name} ${fixAvailable.version}` : 'no fix known';
}
