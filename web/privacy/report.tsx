import type { ComponentChildren } from 'preact';
import { formatTime, plural, formatUtcDay } from '../shared/dates/dates.js';
import { StackedTable } from '../shared/tables/stacked-table.js';
import { t } from '../shared/texts/text.js';
import { Columns, type Table } from './columns.js';
import type { PrivacyData } from '../../src/http/responses/api-types.js';
import { Description, Untranslated } from './description.js';
import { messages } from './messages.js';

type Group = keyof typeof messages.groups;

/** The group of each table, in the order of the page. A table that is not listed here belongs to the group `operation`. */
const GROUP: Readonly<Record<string, Group>> = {
  license: 'holders',
  activation: 'holders',
  purchase: 'holders',
  replaced_key: 'holders',
  release_request: 'holders',
  erasure_request: 'holders',
  one_time_code: 'holders',
  mail_recipient: 'holders',
  session: 'holders',
  telemetry: 'telemetry',
  telemetry_inbox: 'telemetry',
  telemetry_inbox_draining: 'telemetry',
  fleet_week: 'telemetry',
  fleet_cell: 'telemetry',
  fleet_latency: 'telemetry',
  crash_week: 'telemetry',
  staff: 'staff',
  staff_link: 'staff',
  staff_token: 'staff',
  passkey: 'staff',
  passkey_challenge: 'staff',
  crash_group_state: 'staff',
  audit_event: 'staff',
};
const ORDER = Object.keys(GROUP);

/** All tables that the service reports, by group. Descriptions without a translation are in English. */
export function Report({ data: { tables, last_run, untranslated } }: { data: PrivacyData }) {
  const finished = last_run?.finished_at;
  return (
    <Untranslated.Provider value={untranslated}>
      <p>{finished ? t(messages.lastRun, { time: formatTime(finished) }) : messages.noRun}</p>
      <p class="quiet">{messages.legend}</p>
      {untranslated.length > 0 && <p class="quiet">{messages.reportLanguage}</p>}
      {(Object.keys(messages.groups) as Group[]).map((group) => (
        <TableGroup key={group} group={group} tables={tables} />
      ))}
    </Untranslated.Provider>
  );
}

function TableGroup({ group, tables }: { group: Group; tables: readonly Table[] }) {
  const tablesOfGroup = tables
    .filter(({ name }) => (GROUP[name] ?? 'operation') === group)
    .toSorted((a, b) => ORDER.indexOf(a.name) - ORDER.indexOf(b.name));
  return (
    <>
      <StackedTable
        caption={messages.groups[group]}
        columns={Object.values(messages.columns).map((name) => ({ name }))}
      >
        {tablesOfGroup.map((table) => (
          <TableRow key={table.name} table={table} />
        ))}
      </StackedTable>
      <Columns tables={tablesOfGroup} />
    </>
  );
}

function TableRow({ table }: { table: Table }) {
  // `leaves` says whether a retention rule deletes the rows.
  const { kept, leaves, oldest, last_deleted } = table;
  const deleted =
    last_deleted && t(plural(last_deleted.rows, messages.deleted), { day: formatUtcDay(last_deleted.on) });
  return (
    <tr role="row">
      <th scope="row" role="rowheader">
        <Description text={table.what} isTitle />
      </th>
      <Cell name={messages.columns.kept}>{kept === null ? '–' : <Description text={kept} />}</Cell>
      <Cell name={messages.columns.oldest} isFaint={!leaves || !oldest}>
        {leaves ? (oldest ? formatUtcDay(oldest) : messages.nothingOld) : '–'}
      </Cell>
      <Cell name={messages.columns.deleted} isFaint={!leaves || !deleted}>
        {leaves ? (deleted ?? messages.nothingDeleted) : '–'}
      </Cell>
    </tr>
  );
}

interface CellProps {
  readonly name: string;
  readonly children: ComponentChildren;
  readonly isFaint?: boolean;
}

function Cell({ name, children, isFaint = false }: CellProps) {
  return (
    <td role="cell" class={isFaint ? 'quiet' : ''}>
      <span class="cell-name" aria-hidden="true">
        {name}:{' '}
      </span>
      {children}
    </td>
  );
}
