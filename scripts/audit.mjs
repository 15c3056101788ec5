// npm run audit [-- --registry=…]: asks the registry which advisories exist for the packages of the lock file.
// The exit code is 1 if a package of a release has an advisory of moderate severity or worse, 3 if the registry sent no list
// of advisories, so that nothing was checked, and otherwise 0. Arguments after `--` are passed to npm. npm test does not run it,
// because npm test makes no network requests.
import { command, step } from './prepare.mjs';
import { locked, releasedPackages } from './shipped.mjs';

const SEVERITIES = ['critical', 'high', 'moderate', 'low', 'info'];
/** The severities of which an advisory for a package of a release leads to exit code 1. */
const FAILING_SEVERITIES = ['critical', 'high', 'moderate'];
const EXIT_CODE_UNCHECKED = 3;

await command(async () => {
  const report = await runNpmAudit(process.argv.slice(2));
  if (!report.vulnerabilities) {
    console.log(
      `Nothing was checked: the registry gave no list of advisories (${report.message ?? 'no reason given'}).`,
    );
    return EXIT_CODE_UNCHECKED;
  }
  const released = releasedPackages();
  const advisories = listAdvisories(report);
  const ofRelease = advisories.filter(({ id }) => released.has(id));
  print(`Advisories for the ${released.size} packages of a release`, ofRelease);
  print(
    'Advisories for the packages that only build and test it',
    advisories.filter(({ id }) => !released.has(id)),
  );
  return ofRelease.some(({ severity }) => FAILING_SEVERITIES.includes(severity)) ? 1 : 0;
});

/**
 * Runs npm audit for all packages: npm cannot select those of a release, because the ones that pages bundle are
 * devDependencies.
 */
async function runNpmAudit(options) {
  const everything = ['--package-lock-only', '--include=dev', '--include=optional', '--include=peer'];
  // If npm is configured as offline, it makes no request and reports no vulnerability.
  const network = ['--no-offline', '--fetch-retries=0', '--fetch-timeout=30000'];
  const args = ['audit', '--json', '--loglevel=silent', ...everything, ...network, ...options];
  const { output } = await step('npm', args, { stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    return JSON.parse(output);
  } catch {
    return {};
  }
}

/** Lists each advisory with each affected path in node_modules, without packages that only depend on an affected one. */
function listAdvisories({ vulnerabilities }) {
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
    fixText(row),
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

function fixText({ fixAvailable }) {
  if (fixAvailable === true) return 'fixed within its version range';
  return fixAvailable ? `fixed by ${fixAvailable.name} ${fixAvailable.version}` : 'no fix known';
}
