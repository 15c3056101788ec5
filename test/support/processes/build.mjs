// The folder of the service that tests start: `dist-server`, which production runs, if all tests run; otherwise `dist`, which is
// built faster. Both contain, under the same names, the modules whose limits a test changes in the process of the service.
const folder = new URL(`../../../${process.env.MOORING_TEST_BUILD ?? 'dist'}/`, import.meta.url);

/** Returns the URL of a file of the service. */
export const ofBuild = (path) => new URL(path, folder).href;
