import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { formatDay } from '../shared/dates/dates.js';
import { ExactTime } from '../shared/dates/exact-time.js';
import { fill, t, UntrustedText } from '../shared/texts/text.js';
import type { HolderActivation } from '../../src/http/responses/api-types.js';
import { onDemand } from './load-on-demand.js';
import { OnDemandButton } from './on-demand-button.js';
import { MachineDetails } from './machine-details.js';
import { MachineName } from './machine-name.js';
import { isThisMachine } from './this-machine.js';
import { messages } from './messages.js';

interface ActiveProps {
  readonly activation: HolderActivation;
  /** Whether the row is shown on the screen: the filter finds it, or it is this machine. A printed page has all rows. */
  readonly isFound: boolean;
  /** How many machines of this license the holder may still release without support. */
  readonly releasesLeft: number;
  /** False if the license was refunded or revoked: no machine can use its places any more. */
  readonly isReleasable: boolean;
}

export function ActiveRow({ activation, isFound, releasesLeft, isReleasable }: ActiveProps) {
  const [isDialogOpen, setIsDialogOpen] = useState(false);
  const { id, release_requested_at, release_declined } = activation;
  const close = () => setIsDialogOpen(false);
  return (
    <Row activation={activation} isFound={isFound}>
      {release_requested_at && (
        <span>{t(messages.machines.asked, { day: formatDay(release_requested_at) })}</span>
      )}
      {!release_requested_at && release_declined && <DeclinedRelease {...release_declined} />}
      {isReleasable && (!release_requested_at || releasesLeft > 0) && (
        <OnDemandButton
          id={`do-${id}`}
          labelledBy={`do-${id} name-${id}`}
          describedBy={`details-${id}`}
          onLoaded={() => setIsDialogOpen(true)}
        >
          {releasesLeft > 0 ? messages.release.self : messages.release.ask}
        </OnDemandButton>
      )}
      {isDialogOpen && releasesLeft > 0 && (
        <onDemand.ReleaseMyself activation={activation} releasesLeft={releasesLeft} onClose={close} />
      )}
      {isDialogOpen && releasesLeft === 0 && (
        <onDemand.AskForRelease activation={activation} onClose={close} />
      )}
    </Row>
  );
}

function DeclinedRelease({ declined_at, reason }: NonNullable<HolderActivation['release_declined']>) {
  return (
    <p class="small quiet">
      {t(messages.machines.declined, { day: formatDay(declined_at) })}
      {reason && <> {fill(messages.machines.declinedWhy, { reason: <UntrustedText text={reason} /> })}</>}
    </p>
  );
}

export function EndedRow({ activation }: { activation: HolderActivation }) {
  const sentence =
    activation.ended_reason === 'refunded' ? messages.machines.refunded : messages.machines.released;
  return (
    <Row activation={activation}>
      {activation.ended_at && t(sentence, { day: formatDay(activation.ended_at) })}
    </Row>
  );
}

interface RowProps {
  readonly activation: HolderActivation;
  readonly isFound?: boolean;
  readonly children: ComponentChildren;
}

function Row({ activation, isFound = true, children }: RowProps) {
  const { id } = activation;
  return (
    <tr role="row" class={isFound ? '' : 'unfound'}>
      <th
        scope="row"
        role="rowheader"
        aria-labelledby={`name-${id} this-${id}`}
        aria-describedby={`details-${id}`}
      >
        <div class="name">
          <span id={`name-${id}`}>
            <MachineName activation={activation} />
          </span>
          {isThisMachine(activation) && (
            <span class="tag accent" id={`this-${id}`}>
              {messages.machines.thisMachine}
            </span>
          )}
        </div>
        <div class="details" id={`details-${id}`}>
          <MachineDetails activation={activation} day={<ExactTime at={activation.activated_at} />} />
        </div>
      </th>
      <td role="cell" id={`state-${id}`}>
        {children}
      </td>
    </tr>
  );
}
