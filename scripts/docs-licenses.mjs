// npm run docs:licenses: writes docs/licenses.md from the lock file and the imports of the pages.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { command } from './prepare.mjs';
import { releasedPackages } from './shipped.mjs';

/** The licenses that a release may contain, by SPDX name, and what each requires of a distributor. */
export const ALLOWED = {
  MIT: 'Keep the copyright notice and the text of the license.',
  'MIT-0': 'Asks nothing.',
  ISC: 'Keep the copyright notice and the text of the license.',
  '0BSD': 'Asks nothing.',
  'BSD-2-Clause': 'Keep the copyright notice and the text of the license.',
  'BSD-3-Clause':
    'Keep the copyright notice and the text of the license; do not advertise with the names of its authors.',
  'BlueOak-1.0.0': 'Pass on the text of the license, or a link to it.',
  'Apache-2.0':
    'Keep the notices and the text of the license, say what was changed; grants the patents of its authors.',
  'Python-2.0': 'Keep the copyright notice and the text of the license, say what was changed.',
  Unlicense: 'Asks nothing.',
};

/** The licenses that tools for building and testing may have in addition, because a release does not contain them. */
export const ALLOWED_FOR_TOOLS = [
  ...Object.keys(ALLOWED),
  'MPL-2.0',
  'CC-BY-4.0',
  'Apache-2.0 AND MIT',
  '(MIT OR CC0-1.0)',
];

const INTRODUCTION = `# Licenses

Written by \`npm run docs:licenses\`; a test keeps it current. This page lists the third-party packages in a
release with their licenses: what the bundle of the service contains, and what the pages bundle. A test fails
for a license that is not allowed in \`scripts/docs-licenses.mjs\`; copyleft and source-available licenses are not allowed.

A release includes the texts of the licenses, as far as the authors of the packages published them: \`dist/licenses.md\` for the
bundle of the service, and \`web/dist/licenses.md\`, which the service serves as \`/licenses.md\`, for the pages. \`npm run sbom\` writes the same list in a machine-readable form ([CONTRIBUTING](../CONTRIBUTING.md#dependencies)).
`;

const PROGRAMS = `## Programs

The tables above do not cover programs: npm's entry for a package of binaries has the license of the package, not of the
compiled program.

| program                | comes with                                   | license                                                                                  |
| ---------------------- | -------------------------------------------- | ---------------------------------------------------------------------------------------- |
| Node                   | the base image; for development from npm     | MIT; V8, OpenSSL, ICU and others have their own licenses: all in its \`LICENSE\`              |
| Debian                 | the base image                               | many, GPL and LGPL among them: in the image under \`/usr/share/doc\`, not changed by us    |
| PostgreSQL             | the database server; for development from npm | PostgreSQL License; the one from npm brings OpenSSL, ICU, libxml2, libxslt, zlib and others |
| Chromium               | npm, on Linux for x64; tests only            | BSD-3-Clause; many parts have their own licenses; not in a release                          |

An image contains only the first two, and the archive of a release none of them. Use a scanner for images to find their vulnerabilities: neither \`npm run audit\` nor
the bill of materials covers the content of programs.
`;

/** @returns the text of docs/licenses.md */
export function licensesAsMarkdown() {
  const entries = [...releasedPackages().values()];
  const sections = [...new Set(entries.map(({ license }) => license))]
    .map((license) => [license, entries.filter((entry) => entry.license === license)])
    .toSorted(([a, entriesOfA], [b, entriesOfB]) => entriesOfB.length - entriesOfA.length || (a < b ? -1 : 1))
    .map(([license, entriesOfLicense]) => section(license, entriesOfLicense));
  return [INTRODUCTION, ...sections, PROGRAMS].join('\n');
}

function section(license, entries) {
  const rows = entries.map(({ name, version, where }) => `| ${name} | ${version} | ${where} |`);
  const head = [`## ${license} (${entries.length})`, '', ALLOWED[license] ?? 'Not allowed.', ''];
  return `${[...head, '| package | version | held by |', '| --- | --- | --- |', ...rows].join('\n')}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await command(async () => {
    writeFileSync(new URL('../docs/licenses.md', import.meta.url), licensesAsMarkdown());
    return 0;
  });
}
