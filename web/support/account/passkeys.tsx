import { useState } from 'preact/hooks';
import { moveFocus } from '../../shared/announcer.js';
import { Button } from '../../shared/button.js';
import { Notice } from '../../shared/notice.js';
import { Loaded } from '../parts/loaded.js';
import { showChange } from '../parts/show-change.js';
import { useDeed } from '../parts/use-deed.js';
import { Failure } from '../sign-in/failure.js';
import { enrolPasskey } from '../sign-in/passkey.js';
import type { Passkey } from '../types.js';
import { useLoad } from '../use-load.js';
import { words } from '../words.js';
import { PasskeyTable } from './passkey-table.js';
import { RemovePasskeyDialog } from './remove-passkey-dialog.js';

const say = words.passkeys;
const HEADING_ID = 'passkeys';

/** One's own ways in. */
export function Passkeys() {
  const load = useLoad<{ passkeys: Passkey[] }>('passkeys');
  const adding = useDeed();
  const [removing, setRemoving] = useState<Passkey>();
  const [said, setSaid] = useState<{ text: string; row?: string }>();

  async function add() {
    setSaid(undefined);
    await adding.run(async () => {
      const { id } = await enrolPasskey();
      await load.reload();
      setSaid({ text: say.made, row: id });
      showChange(say.made, id);
    });
  }

  async function removed() {
    setRemoving(undefined);
    setSaid({ text: say.removed });
    await load.reload();
    showChange(say.removed);
    moveFocus(document.getElementById(HEADING_ID));
  }

  return (
    <section class="flow" aria-labelledby={HEADING_ID}>
      <h2 id={HEADING_ID}>{say.title}</h2>
      {said && <Notice kind="good">{said.text}</Notice>}
      <Failure error={adding.error} texts={say} />
      <Loaded load={load} waiting={say.waiting}>
        {({ passkeys }) =>
          passkeys.length === 0 ? (
            <Notice kind="warning">{say.none}</Notice>
          ) : (
            <PasskeyTable passkeys={passkeys} changed={said?.row} onRemove={setRemoving} />
          )
        }
      </Loaded>
      <div class="actions">
        <Button busy={adding.busy} onClick={() => void add()}>
          {say.addAnother}
        </Button>
      </div>
      {removing && (
        <RemovePasskeyDialog
          passkey={removing}
          isLast={load.data?.passkeys.length === 1}
          onClose={() => setRemoving(undefined)}
          onDone={() => void removed()}
        />
      )}
    </section>
  );
}
