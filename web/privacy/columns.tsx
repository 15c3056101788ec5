import { plural } from '../shared/dates.js';
import { whatOf, type Table } from './data.js';
import { messages } from './messages.js';

/** Every column of some tables, in the messages that stand in the database itself. */
export function Columns({ tables }: { tables: readonly Table[] }) {
  return (
    <details>
      <summary>{plural(tables.length, messages.details)}</summary>
      {tables.map((table) => (
        <section key={table.name}>
          <h3>
            {whatOf(table)} <span class="mono quiet">{table.name}</span>
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
