/**
 * The oldest major version of Node that runs Mooring. package.json (`engines`), the Dockerfile, README.md and
 * docs/operations/install.md state it too.
 */
export const REQUIRED_NODE_MAJOR = 24;

// Entry points import this file alone before the version is checked, so it imports nothing, and has no syntax that an old Node
// lacks.

/** Whether this Node can run Mooring. If not, prints a sentence and sets the exit code 2. */
export function isNodeNewEnough(): boolean {
  const version = process.versions.node;
  if (parseInt(version, 10) >= REQUIRED_NODE_MAJOR) return true;
  process.stderr.write(
    'Mooring needs Node ' +
      REQUIRED_NODE_MAJOR +
      ' or later, and this is Node ' +
      version +
      ': run it with a newer Node (docs/operations/install.md).\n',
  );
  process.exitCode = 2;
  return false;
}
