import { plural } from '../shared/dates/dates.js';
import { descriptionOf, type Table } from './data.js';
import { messages } from './messages.js';

/** All columns of these tables, with their descriptions from the database. */
export function Columns({ tables }: { tables: readonly Table[] }) {
  return (
    <details>
      <summary>{plural(tables.length, messages.details)}</summary>
      {tables.map((table) => (
        <section key={table.name} lang="en">
          <h3>
            {descriptionOf(table)} <span class="mono quiet">{table.name}</span>
          </h3>
          <dl>
            {table.columns.map(({ name, what }) => (
              <div key={name}>
                <dt class="mono">{name}</dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </details>
  );
}
