import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { t } from '../../shared/texts/text.js';
import { messages } from '../messages.js';

interface Props {
  readonly title: string;
  readonly note?: string | undefined;
  readonly children: ComponentChildren;
  /** Renders the numbers of the chart when their table is opened; undefined if there are no numbers. */
  readonly table?: (() => ComponentChildren) | undefined;
}

/** A chart, and below it its numbers as a table that can be opened. */
export function Section({ title, note, children, table }: Props) {
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  return (
    <section class="flow chart" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {note && <p class="quiet small">{note}</p>}
      {children}
      {table && (
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>{t(messages.fleet.table, { name: title })}</summary>
          {isOpen && table()}
        </details>
      )}
    </section>
  );
}
