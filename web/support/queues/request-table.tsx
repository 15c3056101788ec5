import { Button } from '../../shared/forms/button.js';
import { plural } from '../../shared/dates/dates.js';
import { RelativeTime } from '../parts/relative-time.js';
import { t, UntrustedText } from '../../shared/texts/text.js';
import { machineNames, MachineWithDetails } from '../parts/machine.js';
import { Table, wasLeftFrom, type Column } from '../parts/table.js';
import { useFirstRows } from '../parts/use-first-rows.js';
import type { Activation, ReleaseRequestLine } from '../../../src/http/responses/api-types.js';
import type { Decision } from '../types.js';
import { messages } from '../messages.js';
import type { Target } from './decide.js';
import { useDecisionMails } from './decision-mails.js';
import { RowActions } from './row-actions.js';
import { isPending, useRowStates } from './row-states.js';
import { SelectableMachine, SelectionBar, useSelection } from './selection.js';

const ROWS_SHOWN_AT_FIRST = 50;
const texts = messages.requests;

/** A release request, with the activation that it asks to release. */
export type RequestWithActivation = Pick<ReleaseRequestLine, 'id' | 'asked_at' | 'reason' | 'language'> & {
  readonly activation: Activation;
};

interface Props<Row extends RequestWithActivation> {
  readonly rows: readonly Row[];
  readonly caption?: string;
  /** Columns with the holder and the license, if the rows belong to several licenses. */
  readonly licenseColumns?: readonly Column<Row>[];
  readonly onDecide: (targets: readonly Target[], decision: Decision) => void;
}

export function RequestTable<Row extends RequestWithActivation>({
  rows,
  caption = plural(rows.length, texts.caption),
  licenseColumns = [],
  onDecide,
}: Props<Row>) {
  const { shown, showAllButton } = useFirstRows(rows, ROWS_SHOWN_AT_FIRST, ({ id }) => wasLeftFrom(id));
  const states = useRowStates();
  // The dialog shows the mails. They are loaded before it opens.
  useDecisionMails();
  const selection = useSelection(
    shown.filter(({ activation }) => !isPending(states.get(activation.id))).map(({ id }) => id),
  );
  const nameOf = machineNames(rows.map(({ activation }) => activation));
  const targetOf = ({ id, reason, language, activation }: Row): Target => ({
    activation,
    name: nameOf(activation),
    request: { id, reason },
    language,
  });
  const decideSelected = (decision: Decision) => () =>
    onDecide(rows.filter(({ id }) => selection.selected.includes(id)).map(targetOf), decision);
  const isSelectable = rows.length > 1;
  const columns: Column<Row>[] = [
    {
      name: texts.machine,
      headerClass: 'column-machine',
      isRowHeader: true,
      rowName: ({ activation }) => nameOf(activation),
      cell: ({ id, activation }) => (
        <SelectableMachine id={id} activation={activation} selection={isSelectable ? selection : undefined}>
          <MachineWithDetails activation={activation} />
        </SelectableMachine>
      ),
    },
    ...licenseColumns,
    {
      name: texts.asked,
      headerClass: 'column-asked',
      cell: ({ asked_at }) => <RelativeTime at={asked_at} />,
    },
    {
      name: texts.reason,
      cell: ({ reason }) =>
        reason ? <UntrustedText text={reason} /> : <span class="quiet">{texts.noReason}</span>,
    },
    {
      name: texts.actions,
      headerClass: 'column-actions',
      hidesName: true,
      cell: (request) => (
        <RowActions state={states.get(request.activation.id)}>
          <span data-key="r">
            <Button
              label={t(texts.releaseLabel, { machine: nameOf(request.activation) })}
              onClick={() => onDecide([targetOf(request)], 'release')}
            >
              {texts.release}
            </Button>
          </span>
          <span data-key="d">
            <Button
              label={t(texts.declineLabel, { machine: nameOf(request.activation) })}
              onClick={() => onDecide([targetOf(request)], 'decline')}
            >
              {texts.decline}
            </Button>
          </span>
        </RowActions>
      ),
    },
  ];
  return (
    <div class="selectable-table requests">
      {isSelectable && (
        <SelectionBar
          selection={selection}
          actions={[
            { key: 'R', text: messages.selection.release, onClick: decideSelected('release') },
            { key: 'D', text: messages.selection.decline, onClick: decideSelected('decline') },
          ]}
        />
      )}
      <Table caption={caption} columns={columns} rows={shown} idOf={({ id }) => id} hasRowShortcuts />
      {showAllButton}
    </div>
  );
}
