// The folder of the service that tests start: `dist-server`, which production runs, or in a run of some test files `dist`, which is
// built faster. Both have the modules that tests change under the same names.
const folder = new URL(`../../../${process.env.MOORING_TEST_BUILD ?? 'dist'}/`, import.meta.url);

/** Returns the URL of a file of the service. */
export const ofBuild = (path) => new URL(path, folder).href;
