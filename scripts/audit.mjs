// npm run audit [-- --registry=…]: asks the registry which advisories exist for the packages of the lock file.
// The exit code is 1 if a package of a release has an advisory of moderate severity or worse, 3 if the registry did not
// answer, so that nothing was checked, and otherwise 0. Arguments after `--` are passed to npm. npm test does not run it,
// because npm test makes no network requests.
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

/** Runs npm audit for all packages. This script selects those of a release itself, because npm lists bundled ones as devDependencies. */
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
