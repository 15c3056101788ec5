import { DIMENSIONS, TELEMETRY_FIELDS } from '../../telemetry/telemetry.fields.js';
import { SMALL_CELL_THRESHOLD } from '../../telemetry/suppress-small-cells.js';
import { EXEMPT_TABLES, createRetentionPolicy } from '../../retention/policy.js';

/** `docs/privacy.md`, made from the tables that the code itself goes by. @param taxRetentionYears the setting's default */
export function privacyAsMarkdown(taxRetentionYears: number): string {
  const fields = Object.entries(TELEMETRY_FIELDS).map(([name, { type, means }]) => [
    `\`${name}\``,
    type,
    means,
  ]);
  const rules = createRetentionPolicy({ taxRetentionYears }).map(({ table, description, period }) => [
    `\`${table}\``,
    description,
    period,
  ]);
  const exceptions = Object.entries(EXEMPT_TABLES).map(([table, why]) => [`\`${table}\``, why]);
  const dimensions = Object.values(DIMENSIONS).map((names) => `- \`${names.join('` with `')}\``);
  return [
    '<!-- Made from the code by `npm run docs:privacy`; a test holds it up to date. -->',
    '',
    '# Privacy',
    '',
    'What is stored, how long, and what staff see of it. The service says the same of itself at `GET /privacy/data`, with',
    'the oldest day that rows to leave are counted from, and what was last deleted.',
    '',
    '## What telemetry may say',
    '',
    'A heartbeat may carry these fields and no others. Text that looks like an e-mail address, an IP or MAC address, a',
    'UUID, a URL, a file path, a license key, a token or the name of a computer, also encoded in common ways, is dropped;',
    'the filter is a list of patterns and cannot know every disguise. A row holds a random id, the day, and these; no',
    'time, key, token or order of arrival. It waits in an inbox until midnight (UTC) and moves over with all others of',
    'its day in the order of their random ids: from the next day on nothing in the tables but its own values links it to a',
    "license, or to another row of the same machine. (PostgreSQL's write-ahead log knows the order of writes until it is recycled.)",
    '',
    ...table(['field', 'type', 'meaning'], fields),
    '',
    'The fields are listed in `src/telemetry/telemetry.fields.ts`, which names every place that a new field changes.',
    '',
    '## What staff see of it',
    '',
    'Counts of heartbeats, never of machines, by whole weeks, made once when a week is over:',
    '',
    ...dimensions,
    '- how long the detector took, by chip: half, nine of ten, nineteen of twenty',
    '- crash groups by `crash_sig` and version, never beside hardware',
    '',
    `A cell stands for at least ${SMALL_CELL_THRESHOLD} heartbeats, ten machines' worth. Smaller ones are counted together as \`other\`; where`,
    'that is itself too small, the next smallest join it. No two tables share a field but the total, so none can be',
    'subtracted from another.',
    '',
    '## How long things stay',
    '',
    ...table(['table', 'what', 'kept'], rules),
    '',
    `Purchases stay \`TAX_RETENTION_YEARS\` years; ${taxRetentionYears} is the default. These tables are not deleted from by the schedule:`,
    '',
    ...table(['table', 'why'], exceptions),
    '',
    '## What a person gets to see',
    '',
    'Who signs in to the portal with a mailed code gets a file of everything that is held of his or her address: licenses,',
    'machines with their labels and ids, release requests, what staff did to the licenses and why, purchases, the deletion',
    'request that waits, and the times of sessions, codes and mails that wait. Not in it are hashes, which are secrets; who',
    'of the staff did something, which is about them; and telemetry, which cannot be found for one person.',
    '',
    'Where a license gets another e-mail address, labels and machine ids of ended activations and the reasons of release',
    'requests are emptied, and what happened before is not shown to the new holder. An active machine keeps its label.',
    '',
    'Nothing is written down of what a holder does there but the thing itself: the audit is of what staff did.',
    '',
    '## Deletion requests',
    '',
    "Due within 30 days. A holder's own waits three days, in which it can be taken back, then runs by itself; one that staff",
    'make runs at once. It ends the bindings and erases the e-mail address, the labels and the machine ids of every license',
    "of that address, its release requests, sessions and codes, and the purchases' e-mail. Of a purchase the transaction id,",
    'the status and the day stay, for tax and refunds. The receipt is mailed, and then the address is gone. The ids of what was',
    'erased and a keyed hash of the address are also written to `TOMBSTONE_FILE`, outside the database: after a backup is',
    'restored they are erased again at the next start, wherever the address comes back. Telemetry holds no link to a person,',
    'so there is nothing of it to find.',
    '',
    "PostgreSQL keeps the bytes of deleted rows in a table's file until it reuses their space. So the files of all tables with",
    'personal data are rewritten: within 24 hours, and for a table of over 16 MiB within 25 days. A backup that is made later',
    'does not contain what was erased. (The write-ahead log does until it is recycled, and earlier backups until they leave.)',
    '',
  ].join('\n');
}

function table(head: string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)];
}
