import { useAction } from '../shared/action.js';
import { Button } from '../shared/button.js';
import { expiryText } from '../shared/expiry.js';
import { fill, t } from '../shared/text.js';
import { toast } from '../shared/toast.js';
import type { HolderLicense } from '../shared/api-types.js';
import { standing, works, type Standing } from './holder.js';
import { Machines } from './machines.js';
import { sendKey } from './portal-api.js';
import { Seats } from './seats.js';
import { useHolderError, useHolderSession } from './session.js';
import { inUse } from './summary.js';
import { messages } from './messages.js';

const texts = messages.license;
const COLOURS: Record<Standing, string> = {
  active: 'good',
  updates_ended: 'good',
  suspended: 'warning',
  expired: 'danger',
  refunded: 'danger',
  revoked: 'danger',
};

/** One license: its status, how many machines use it, and which. */
export function LicenseSection({ license }: { license: HolderLicense }) {
  const { holder } = useHolderSession();
  // When it would have expired no longer matters.
  const isOver = license.status === 'refunded' || license.status === 'revoked';
  const several = holder.licenses.length > 1;
  const status = standing(license);
  const because = texts.because[status as keyof typeof texts.because];
  return (
    <section class="license flow">
      <header>
        <h2>{fill(texts.title, { hint: <span class="mono">{license.key_hint}</span> })}</h2>
        <span class={`tag ${COLOURS[status]}`}>{texts.standing[status]}</span>
        {several && works(license) && (
          <Seats used={license.machines_in_use} allowed={license.machines_allowed} />
        )}
      </header>
      {because && <p>{because}</p>}
      <p class="quiet" hidden={isOver}>
        {several && `${inUse(license.machines_in_use, license.machines_allowed)} · `}
        {expiryText(license, texts.expiry)}
      </p>
      {holder.signed_in_by === 'code' && !isOver && <SendKey license={license} />}
      <Machines license={license} />
    </section>
  );
}

/** Mails the key to the license's address: how "I lost my key" ends. */
function SendKey({ license }: { license: HolderLicense }) {
  const { holder } = useHolderSession();
  const { busy, error, run } = useAction(useHolderError());
  const send = () =>
    run(async () => {
      await sendKey(license.id);
      toast(t(texts.keySent, { email: holder.email }));
    });
  return (
    <div class="actions">
      <Button busy={busy} onClick={() => void send()}>
        {texts.sendKey}
      </Button>
      {error && (
        <span class="error" role="alert">
          {error}
        </span>
      )}
    </div>
  );
}
