import { Button } from '../../shared/button.js';
import { formatShortTime, plural } from '../../shared/dates.js';
import { t, UntrustedText } from '../../shared/text.js';
import { Machine, machineText } from '../parts/machine.js';
import { Table, type Column } from '../parts/table.js';
import { useFirstRows } from '../parts/use-first-rows.js';
import type { Activation, ReleaseRequestLine } from '../../shared/api-types.js';
import type { Decision } from '../types.js';
import { useRowKeys } from './row-keys.js';
import { messages } from '../messages.js';

const ROWS_SHOWN_AT_FIRST = 50;
const texts = messages.requests;

/** A release request, with the activation that it asks to release. */
export type RequestWithActivation = Pick<ReleaseRequestLine, 'id' | 'asked_at' | 'reason'> & {
  readonly activation: Activation;
};

interface Props<Row extends RequestWithActivation> {
  readonly rows: readonly Row[];
  /** Columns with the holder and the license, if the rows belong to several licenses. */
  readonly licenseColumns?: readonly Column<Row>[];
  readonly onDecide: (request: Row, decision: Decision) => void;
}

export function RequestTable<Row extends RequestWithActivation>({
  rows,
  licenseColumns = [],
  onDecide,
}: Props<Row>) {
  const { shown, showAllButton } = useFirstRows(rows, ROWS_SHOWN_AT_FIRST);
  useRowKeys();
  const columns: Column<Row>[] = [
    {
      name: texts.machine,
      isRowHeader: true,
      cell: ({ activation }) => <Machine name={activation.hostname_hint} />,
    },
    ...licenseColumns,
    {
      name: texts.asked,
      cell: ({ asked_at }) => <time dateTime={asked_at}>{formatShortTime(asked_at)}</time>,
    },
    {
      name: texts.reason,
      cell: ({ reason }) =>
        reason ? <UntrustedText text={reason} /> : <span class="quiet">{texts.noReason}</span>,
    },
    {
      name: texts.actions,
      hidesName: true,
      cell: (request) => (
        <span class="row-actions">
          <span data-key="r">
            <Button label={labelOf(texts.releaseLabel, request)} onClick={() => onDecide(request, 'release')}>
              {texts.release}
            </Button>
          </span>
          <span data-key="d">
            <Button label={labelOf(texts.declineLabel, request)} onClick={() => onDecide(request, 'decline')}>
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
        hasRowShortcuts
      />
      {showAllButton}
    </>
  );
}

const labelOf = (sentence: string, { activation }: RequestWithActivation) =>
  t(sentence, { machine: machineText(activation.hostname_hint) });
