import { Button } from '../../shared/button.js';
import { shortMoment, plural } from '../../shared/dates.js';
import { t, UntrustedText } from '../../shared/text.js';
import { Machine, machineText } from '../parts/machine.js';
import { Table, type Column } from '../parts/table.js';
import { useFew } from '../parts/use-few.js';
import type { Activation, ReleaseRequestLine } from '../../shared/api-types.js';
import type { Decision } from '../types.js';
import { useRowKeys } from './row-keys.js';
import { messages } from '../messages.js';

const FEW = 50;
const texts = messages.requests;

/** A request with the machine it is about. */
export type Asked = Pick<ReleaseRequestLine, 'id' | 'asked_at' | 'reason'> & {
  readonly activation: Activation;
};

interface Props<Row extends Asked> {
  readonly rows: readonly Row[];
  /** Columns that say whose it is, where that is not plain. */
  readonly whose?: readonly Column<Row>[];
  readonly onDecide: (asked: Row, decision: Decision) => void;
}

export function RequestTable<Row extends Asked>({ rows, whose = [], onDecide }: Props<Row>) {
  const { shown, more } = useFew(rows, FEW);
  useRowKeys();
  const columns: Column<Row>[] = [
    {
      name: texts.machine,
      head: true,
      cell: ({ activation }) => <Machine name={activation.hostname_hint} />,
    },
    ...whose,
    { name: texts.asked, cell: ({ asked_at }) => <time dateTime={asked_at}>{shortMoment(asked_at)}</time> },
    {
      name: texts.reason,
      cell: ({ reason }) =>
        reason ? <UntrustedText text={reason} /> : <span class="quiet">{texts.noReason}</span>,
    },
    {
      name: texts.actions,
      plain: true,
      cell: (asked) => (
        <span class="row-actions">
          <span data-key="r">
            <Button label={label(texts.releaseLabel, asked)} onClick={() => onDecide(asked, 'release')}>
              {texts.release}
            </Button>
          </span>
          <span data-key="d">
            <Button label={label(texts.declineLabel, asked)} onClick={() => onDecide(asked, 'decline')}>
              {texts.decline}
            </Button>
          </span>
        </span>
      ),
    },
  ];
  return (
    <>
      <Table
        caption={plural(rows.length, texts.caption)}
        columns={columns}
        rows={shown}
        idOf={({ id }) => id}
        isWorked
      />
      {more}
    </>
  );
}

const label = (sentence: string, { activation }: Asked) =>
  t(sentence, { machine: machineText(activation.hostname_hint) });
