import { Button } from '../../shared/button.js';
import { shortMoment, plural } from '../../shared/dates.js';
import { Stranger } from '../../shared/fill.js';
import { Machine, machineText } from '../parts/machine.js';
import { say as put } from '../../shared/say.js';
import { Table, type Column } from '../parts/table.js';
import { useFew } from '../parts/use-few.js';
import type { Activation, Decision, ReleaseRequest } from '../types.js';
import { words } from '../words.js';

const FEW = 50;
const say = words.requests;

/** A request with the machine it is about. */
export type Asked = Pick<ReleaseRequest, 'id' | 'asked_at' | 'reason'> & { readonly activation: Activation };

interface Props<Row extends Asked> {
  readonly rows: readonly Row[];
  /** Columns that say whose it is, where that is not plain. */
  readonly whose?: readonly Column<Row>[];
  readonly onDecide: (asked: Row, decision: Decision) => void;
}

export function RequestTable<Row extends Asked>({ rows, whose = [], onDecide }: Props<Row>) {
  const { shown, more } = useFew(rows, FEW);
  const columns: Column<Row>[] = [
    { name: say.machine, head: true, cell: ({ activation }) => <Machine name={activation.hostname_hint} /> },
    ...whose,
    { name: say.asked, cell: ({ asked_at }) => <time dateTime={asked_at}>{shortMoment(asked_at)}</time> },
    {
      name: say.reason,
      cell: ({ reason }) => (reason ? <Stranger text={reason} /> : <span class="quiet">{say.noReason}</span>),
    },
    {
      name: say.actions,
      plain: true,
      cell: (asked) => (
        <span class="deeds">
          <Button label={label(say.releaseLabel, asked)} onClick={() => onDecide(asked, 'release')}>
            {say.release}
          </Button>
          <Button label={label(say.declineLabel, asked)} onClick={() => onDecide(asked, 'decline')}>
            {say.decline}
          </Button>
        </span>
      ),
    },
  ];
  return (
    <>
      <Table
        caption={plural(rows.length, say.caption)}
        columns={columns}
        rows={shown}
        idOf={({ id }) => id}
      />
      {more}
    </>
  );
}

const label = (sentence: string, { activation }: Asked) =>
  put(sentence, { machine: machineText(activation.hostname_hint) });
