import { Button } from '../../shared/button.js';
import { day } from '../../shared/dates.js';
import { say as put } from '../../shared/say.js';
import { Table, type Column } from '../parts/table.js';
import type { Passkey } from '../types.js';
import { words } from '../words.js';

const say = words.passkeys;

const COLUMNS: readonly Column<Passkey>[] = [
  { name: say.made_on, head: true, cell: ({ created_at }) => day(created_at) },
  { name: say.kind, cell: ({ transports }) => kindText(transports) },
];

interface Props {
  readonly passkeys: readonly Passkey[];
  readonly changed: string | undefined;
  readonly onRemove: (passkey: Passkey) => void;
}

export function PasskeyTable({ passkeys, changed, onRemove }: Props) {
  const remove: Column<Passkey> = {
    name: say.actions,
    plain: true,
    cell: (passkey) => (
      <Button
        kind="harm"
        label={put(say.removeLabel, { day: day(passkey.created_at) })}
        onClick={() => onRemove(passkey)}
      >
        {say.remove}
      </Button>
    ),
  };
  return (
    <Table
      caption={say.caption}
      columns={[...COLUMNS, remove]}
      rows={passkeys}
      idOf={({ id }) => id}
      changed={changed}
    />
  );
}

const kindText = (transports: readonly string[]) =>
  transports.map((each) => say.transports[each] ?? each).join(', ') || say.unknownKind;
