import { Button } from '../../shared/forms/button.js';
import { formatDay, formatUtcDay } from '../../shared/dates/dates.js';
import { t, UntrustedText } from '../../shared/texts/text.js';
import { Table, type Column } from '../parts/table.js';
import type { Passkey } from '../../../src/http/responses/api-types.js';
import { messages } from '../messages.js';
import { passkeyName } from './passkey-name.js';

const texts = messages.passkeys;

const COLUMNS: readonly Column<Passkey>[] = [
  {
    name: texts.name,
    isRowHeader: true,
    cell: (passkey) => <UntrustedText text={passkeyName(passkey)} />,
  },
  { name: texts.made_on, cell: ({ created_at }) => formatDay(created_at) },
  {
    name: texts.last_used_on,
    cell: ({ last_used_on }) =>
      last_used_on ? formatUtcDay(last_used_on) : <span class="quiet">{texts.neverUsed}</span>,
  },
  { name: texts.kind, cell: ({ transports }) => kindText(transports) },
];

interface Props {
  readonly passkeys: readonly Passkey[];
  readonly changed: string | undefined;
  readonly onRename: (passkey: Passkey) => void;
  readonly onRemove: (passkey: Passkey) => void;
}

export function PasskeyTable({ passkeys, changed, onRename, onRemove }: Props) {
  const actions: Column<Passkey> = {
    name: texts.actions,
    hidesName: true,
    cell: (passkey) => (
      <span class="row-actions">
        <Button
          label={t(texts.renameLabel, { name: passkeyName(passkey) })}
          onClick={() => onRename(passkey)}
        >
          {texts.rename}
        </Button>
        <Button
          kind="harm"
          label={t(texts.removeLabel, { name: passkeyName(passkey) })}
          onClick={() => onRemove(passkey)}
        >
          {texts.remove}
        </Button>
      </span>
    ),
  };
  return (
    <Table
      caption={texts.caption}
      columns={[...COLUMNS, actions]}
      rows={passkeys}
      idOf={({ id }) => id}
      changed={[changed]}
    />
  );
}

const kindText = (transports: readonly string[]) =>
  transports.map((each) => texts.transports[each] ?? each).join(', ') || texts.unknownKind;
