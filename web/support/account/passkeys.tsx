import { useState } from 'preact/hooks';
import { moveFocus } from '../../shared/announcer.js';
import { Button } from '../../shared/button.js';
import { Notice } from '../../shared/notice.js';
import { Loaded } from '../parts/loaded.js';
import { showChange } from '../parts/show-change.js';
import { useAction } from '../../shared/action.js';
import { Failure } from '../sign-in/failure.js';
import { enrolPasskey } from '../sign-in/passkey.js';
import type { Passkey, PasskeyListAnswer } from '../../shared/api-types.js';
import { useLoad } from '../use-load.js';
import { messages } from '../messages.js';
import { PasskeyTable } from './passkey-table.js';
import { RemovePasskeyDialog } from './remove-passkey-dialog.js';

const texts = messages.passkeys;
const HEADING_ID = 'passkeys';

/** The passkeys of the signed-in staff member. */
export function Passkeys() {
  const load = useLoad<PasskeyListAnswer>('passkeys');
  const adding = useAction();
  const [removing, setRemoving] = useState<Passkey>();
  const [changed, setChanged] = useState<string>();

  async function add() {
    setChanged(undefined);
    await adding.run(async () => {
      const { id } = await enrolPasskey();
      await load.reload();
      setChanged(id);
      showChange(texts.made, id);
    });
  }

  async function removed() {
    setRemoving(undefined);
    setChanged(undefined);
    await load.reload();
    showChange(texts.removed);
    moveFocus(document.getElementById(HEADING_ID));
  }

  return (
    <section class="flow" aria-labelledby={HEADING_ID}>
      <h2 id={HEADING_ID}>{texts.title}</h2>
      <Failure error={adding.error} texts={texts} />
      <Loaded load={load} waiting={texts.waiting}>
        {({ passkeys }) =>
          passkeys.length === 0 ? (
            <Notice kind="warning">{texts.none}</Notice>
          ) : (
            <PasskeyTable passkeys={passkeys} changed={changed} onRemove={setRemoving} />
          )
        }
      </Loaded>
      <div class="actions">
        <Button busy={adding.busy} onClick={() => void add()}>
          {texts.addAnother}
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
