import { Button } from '../../shared/button.js';
import { formatDay } from '../../shared/dates.js';
import { t } from '../../shared/text.js';
import { Table, type Column } from '../parts/table.js';
import type { Passkey } from '../../shared/api-types.js';
import { messages } from '../messages.js';

const texts = messages.passkeys;

const COLUMNS: readonly Column<Passkey>[] = [
  { name: texts.made_on, isRowHeader: true, cell: ({ created_at }) => formatDay(created_at) },
  { name: texts.kind, cell: ({ transports }) => kindText(transports) },
];

interface Props {
  readonly passkeys: readonly Passkey[];
  readonly changed: string | undefined;
  readonly onRemove: (passkey: Passkey) => void;
}

export function PasskeyTable({ passkeys, changed, onRemove }: Props) {
  const remove: Column<Passkey> = {
    name: texts.actions,
    hidesName: true,
    cell: (passkey) => (
      <Button
        kind="harm"
        label={t(texts.removeLabel, { day: formatDay(passkey.created_at) })}
        onClick={() => onRemove(passkey)}
      >
        {texts.remove}
      </Button>
    ),
  };
  return (
    <Table
      caption={texts.caption}
      columns={[...COLUMNS, remove]}
      rows={passkeys}
      idOf={({ id }) => id}
      changed={[changed]}
    />
  );
}

const kindText = (transports: readonly string[]) =>
  transports.map((each) => texts.transports[each] ?? each).join(', ') || texts.unknownKind;
