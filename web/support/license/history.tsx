import type { LicenseDetail } from '../types.js';
import { Events } from '../admin/events.js';
import { machineText } from '../parts/machine.js';
import { messages } from '../messages.js';

/** What was done to a license, by whom and why. */
export function History({ license }: { license: LicenseDetail }) {
  const { history: texts } = messages;
  // As long as an activation is stored, the label of its machine is shown instead of the id.
  const labels = new Map(
    license.activations.map(({ id, hostname_hint }) => [id, machineText(hostname_hint)] as const),
  );
  return (
    <section class="flow" aria-labelledby="history">
      <h2 id="history">{texts.title}</h2>
      {license.history.length === 0 ? (
        <p>{texts.none}</p>
      ) : (
        <Events events={license.history} caption={texts.caption} labels={labels} />
      )}
    </section>
  );
}
