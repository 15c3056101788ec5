import type { PrivacyData } from '../../src/http/responses/api-types.js';
import { plural } from '../shared/dates/dates.js';
import { Description } from './description.js';
import { messages } from './messages.js';

export type Table = PrivacyData['tables'][number];

/** All columns of these tables, with their descriptions. The names of tables and columns are English in each language. */
export function Columns({ tables }: { tables: readonly Table[] }) {
  return (
    <details>
      <summary>{plural(tables.length, messages.details)}</summary>
      {tables.map((table) => (
        <section key={table.name}>
          <h3>
            <Description text={table.what} isTitle />{' '}
            <span class="mono quiet" lang="en">
              {table.name}
            </span>
          </h3>
          <dl>
            {table.columns.map(({ name, what }) => (
              <div key={name}>
                <dt class="mono" lang="en">
                  {name}
                </dt>
                <dd>
                  <Description text={what} />
                </dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </details>
  );
}
