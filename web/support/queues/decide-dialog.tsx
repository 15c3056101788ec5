import { plural } from '../../shared/dates/dates.js';
import { fill, UntrustedText } from '../../shared/texts/text.js';
import { messages } from '../messages.js';
import { ConfirmDialog } from '../parts/confirm-dialog.js';
import { MachineDetails, machineText, MachineWithDetails } from '../parts/machine.js';
import { reasonField } from '../parts/reason.js';
import type { Decision } from '../types.js';
import { decline, release, type Target } from './decide.js';
import { HolderMails } from './holder-mails.js';
import { useRowStates } from './row-states.js';

interface Props {
  readonly targets: readonly Target[];
  readonly decision: Decision;
  readonly onClose: () => void;
  /** Called when a release is confirmed, before it is sent (it can be undone for UNDO_SECONDS), or after a request was declined. */
  readonly onConfirmed: () => void;
}

/** Asks for the reason to release machines, or to decline release requests. */
export function DecideDialog({ targets, decision, onClose, onConfirmed }: Props) {
  const { decide: texts, reason: reasons } = messages;
  const isRelease = decision === 'release';
  const [only] = targets.length === 1 ? targets : [];
  const theirReason = only?.request?.reason;
  const value = useTypedReason(targets, decision) ?? (isRelease ? (theirReason ?? '') : '');
  return (
    <ConfirmDialog
      title={<Title targets={targets} decision={decision} />}
      submit={texts.submit[decision]}
      // Without a request, the release stops an application that the holder may still use.
      danger={isRelease && targets.some(({ request }) => !request)}
      fields={{
        reason: isRelease
          ? reasonField({ suggestions: reasons.release, value })
          : {
              ...reasonField({ suggestions: reasons.decline, hint: texts.declineReasonHint, value }),
              label: texts.declineReason,
            },
      }}
      preview={({ reason }) => <HolderMails targets={targets} decision={decision} reason={reason} />}
      onConfirm={async ({ reason }) => {
        if (isRelease) release(targets, reason);
        else await decline(targets, reason);
        onConfirmed();
      }}
      onClose={onClose}
    >
      <Machines targets={targets} />
      {theirReason && <p>{fill(texts.theirs, { reason: <UntrustedText text={theirReason} /> })}</p>}
      <p>{plural(targets.length, texts.means[decision])}</p>
    </ConfirmDialog>
  );
}

/** Returns the reason that was typed when the same decision about one of the machines failed; undefined without a failure. */
function useTypedReason(targets: readonly Target[], decision: Decision): string | undefined {
  const states = useRowStates();
  for (const { activation } of targets) {
    const state = states.get(activation.id);
    if (typeof state === 'object' && state.failed === decision) return state.reason;
  }
  return undefined;
}

function Title({ targets, decision }: Pick<Props, 'targets' | 'decision'>) {
  const { decide: texts } = messages;
  const machine =
    targets.length === 1 ? (
      <UntrustedText text={machineText(targets[0]!.activation.hostname_hint)} />
    ) : (
      plural(targets.length, texts.machines)
    );
  return <>{fill(texts.title[decision], { machine })}</>;
}

/** The details by which people recognize the machines. If there is only one, the title has its label. */
function Machines({ targets }: Pick<Props, 'targets'>) {
  if (targets.length === 1) return <MachineDetails activation={targets[0]!.activation} />;
  return (
    <ul class="machines">
      {targets.map(({ activation }) => (
        <li key={activation.id}>
          <MachineWithDetails activation={activation} />
        </li>
      ))}
    </ul>
  );
}
