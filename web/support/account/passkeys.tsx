import { useState } from 'preact/hooks';
import { moveFocus } from '../../shared/notices/announcer.js';
import { Button } from '../../shared/forms/button.js';
import { Notice } from '../../shared/notices/notice.js';
import { Loaded } from '../parts/loaded.js';
import { showChange } from '../parts/show-change.js';
import { useAction } from '../../shared/forms/action.js';
import { Failure } from '../sign-in/failure.js';
import { enrolPasskey } from '../sign-in/passkey.js';
import type { Passkey, PasskeyListAnswer } from '../../../src/http/responses/api-types.js';
import { useLoad } from '../use-load.js';
import { messages } from '../messages.js';
import { PasskeyTable } from './passkey-table.js';
import { RenamePasskeyDialog } from './rename-passkey-dialog.js';
import { RemovePasskeyDialog } from './remove-passkey-dialog.js';

const texts = messages.passkeys;
const HEADING_ID = 'passkeys';

/** The passkeys of the signed-in staff member. */
export function Passkeys() {
  const load = useLoad<PasskeyListAnswer>('passkeys');
  const addAction = useAction();
  const [passkeyToRename, setPasskeyToRename] = useState<Passkey>();
  const [passkeyToRemove, setPasskeyToRemove] = useState<Passkey>();
  const [changed, setChanged] = useState<string>();

  async function add() {
    setChanged(undefined);
    await addAction.run(async () => {
      const { id } = await enrolPasskey();
      await load.reload();
      setChanged(id);
      showChange(texts.made, id);
    });
  }

  async function handleRenamed({ id }: Passkey) {
    setPasskeyToRename(undefined);
    await load.reload();
    setChanged(id);
    showChange(texts.renamed, id);
  }

  async function handleRemoved() {
    setPasskeyToRemove(undefined);
    setChanged(undefined);
    await load.reload();
    showChange(texts.removed);
    moveFocus(document.getElementById(HEADING_ID));
  }

  return (
    <section class="flow" aria-labelledby={HEADING_ID}>
      <h2 id={HEADING_ID}>{texts.title}</h2>
      <Failure error={addAction.error} texts={texts} />
      <Loaded load={load} loadingText={texts.waiting}>
        {({ passkeys }) =>
          passkeys.length === 0 ? (
            <Notice kind="warning">{texts.none}</Notice>
          ) : (
            <PasskeyTable
              passkeys={passkeys}
              changed={changed}
              onRename={setPasskeyToRename}
              onRemove={setPasskeyToRemove}
            />
          )
        }
      </Loaded>
      <div class="actions">
        <Button busy={addAction.busy} onClick={() => void add()}>
          {texts.addAnother}
        </Button>
      </div>
      {passkeyToRename && (
        <RenamePasskeyDialog
          passkey={passkeyToRename}
          onClose={() => setPasskeyToRename(undefined)}
          onDone={() => void handleRenamed(passkeyToRename)}
        />
      )}
      {passkeyToRemove && (
        <RemovePasskeyDialog
          passkey={passkeyToRemove}
          isLast={load.data?.passkeys.length === 1}
          onClose={() => setPasskeyToRemove(undefined)}
          onDone={() => void handleRemoved()}
        />
      )}
    </section>
  );
}
