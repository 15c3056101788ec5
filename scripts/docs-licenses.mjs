// npm run docs:licenses: writes docs/licenses.md from the lock file.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { command } from './prepare.mjs';
import { shipped } from './shipped.mjs';

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

/** What may build, test and develop besides: it is not passed on. */
export const ALLOWED_FOR_TOOLS = [
  ...Object.keys(ALLOWED),
  'MPL-2.0',
  'CC-BY-4.0',
  'Apache-2.0 AND MIT',
  '(MIT OR CC0-1.0)',
];

const INTRODUCTION = `# Licenses

Written by \`npm run docs:licenses\` from the lock file; a test keeps it current. It lists whose code a release contains and on
which terms: what the image installs for the service, and what the pages bundle. A license that is not on the short list
of \`scripts/docs-licenses.mjs\` turns the tests red; copyleft and source-available ones are not on it.

Their terms are kept by passing the texts on. In the image each package is complete in \`node_modules\`, with its license
where its authors published the text. The build lays those of the bundled packages down beside the pages, as
\`licenses.md\`. \`npm run sbom\` writes the same list for programs ([CONTRIBUTING](../CONTRIBUTING.md#dependencies)).
`;

const PROGRAMS = `## Programs, which no table here covers

npm's entry for a package of binaries speaks of the package, not of what was compiled into it.

| program                | comes with                                   | license                                                                                  |
| ---------------------- | -------------------------------------------- | ---------------------------------------------------------------------------------------- |
| Node                   | the base image; for development from npm     | MIT, with V8, OpenSSL, ICU and others under their own: all in its \`LICENSE\`              |
| Debian                 | the base image                               | many, GPL and LGPL among them: in the image under \`/usr/share/doc\`, not changed by us    |
| PostgreSQL             | the database server; for development from npm | PostgreSQL License; the one from npm brings OpenSSL, ICU, libxml2, libxslt, zlib and others |
| Chromium               | npm, on Linux for x64; tests only            | BSD-3-Clause, with many others under their own; never passed on                          |

A release holds none of them but the first two. What is known against those is for a scanner of images to say, since
neither \`npm run audit\` nor the bill of materials sees inside a program.
`;

/** The whole of docs/licenses.md. */
export function licensesAsMarkdown() {
  const entries = [...shipped().values()];
  const sections = [...new Set(entries.map(({ license }) => license))]
    .map((license) => [license, entries.filter((entry) => entry.license === license)])
    .toSorted(([a, some], [b, others]) => others.length - some.length || (a < b ? -1 : 1))
    .map(([license, those]) => section(license, those));
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
