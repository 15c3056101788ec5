import { formatDay } from '../../shared/dates/dates.js';
import { ExactTime } from '../../shared/dates/exact-time.js';
import { t } from '../../shared/texts/text.js';
import { Copyable } from '../parts/copyable.js';
import { Machine, shortId } from '../parts/machine.js';
import type { Column } from '../parts/table.js';
import type { Activation } from '../../../src/http/responses/api-types.js';
import { messages } from '../messages.js';

export const ROWS_SHOWN_AT_FIRST = 25;
const texts = messages.machines;

export const MACHINE_COLUMN: Column<Activation> = {
  name: texts.machine,
  isRowHeader: true,
  cell: ({ hostname_hint }) => <Machine name={hostname_hint} />,
};
export const ACTIVATED_COLUMN: Column<Activation> = {
  name: texts.activated,
  cell: ({ activated_at }) => <ExactTime at={activated_at} />,
};
export const VERSION_COLUMN: Column<Activation> = {
  name: texts.version,
  cell: ({ app_version }) => app_version,
};
/** @param searched the id of the activation that is marked; empty for none */
export const idColumn = (searched: string): Column<Activation> => ({
  name: texts.id,
  cell: ({ id }) => (
    <>
      <Copyable class="mono small" text={id} short={shortId(id)} what={messages.find.kinds.activation_id} />{' '}
      {id === searched && <span class="tag">{texts.searched}</span>}
    </>
  ),
});
export const ENDED_COLUMN: Column<Activation> = {
  name: texts.ended,
  cell: ({ state, ended_at }) =>
    t(texts.endedOn, { state: texts.states[state], day: ended_at ? formatDay(ended_at) : '' }),
};
