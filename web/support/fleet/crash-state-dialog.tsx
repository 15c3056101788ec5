import { ApiError } from '../../shared/api/api.js';
import type { CrashGroup } from '../../../src/http/responses/api-types.js';
import { fill, t, UntrustedText } from '../../shared/texts/text.js';
import { call } from '../call.js';
import { messages } from '../messages.js';
import { ConfirmDialog } from '../parts/confirm-dialog.js';
import { reasonField } from '../parts/reason.js';
import { crashName } from './crash-name.js';

const { crashStates: texts, crashReasons } = messages.fleet;

interface Props {
  readonly group: CrashGroup;
  /** The state that the group is to get. */
  readonly state: CrashGroup['state'];
  readonly onClose: () => void;
  /** Called if the state was changed since the group was loaded. The dialog stays blocked until the returned promise settles. */
  readonly onConflict: () => Promise<void>;
  readonly onDone: () => void;
}

/** Gives a crash group another state, with a reason. */
export function CrashStateDialog({ group, state, onClose, onConflict, onDone }: Props) {
  const { title, explanation, submit } = texts[state].dialog;
  return (
    <ConfirmDialog
      title={fill(title, { crash: <UntrustedText text={crashName(group)} /> })}
      submit={submit}
      fields={{
        ...(state === 'resolved' && { resolved_in: versionField(group) }),
        reason: reasonField({ suggestions: crashReasons[state], hint: messages.reason.auditOnlyHint }),
      }}
      onConfirm={async (values) => {
        const headers = { 'if-match': `"${group.revision}"` };
        const path = `fleet/crash-groups/${group.crash_sig}`;
        await call('PATCH', path, { state, ...values }, { headers }).catch(async (error: unknown) => {
          if (error instanceof ApiError && error.code === 'crash_group_changed') await onConflict();
          throw error;
        });
        onDone();
      }}
      onClose={onClose}
    >
      <p>{explanation}</p>
    </ConfirmDialog>
  );
}

function versionField({ last_version }: CrashGroup) {
  const { versionLabel, versionHint, versionHintUnknown, versionWrong } = messages.fleet;
  return {
    label: versionLabel,
    hint: last_version === null ? versionHintUnknown : t(versionHint, { last: last_version }),
    input: { autocomplete: 'off', spellcheck: false, maxLength: 32 } as const,
    check: (value: string) => !/^\d+(\.\d+){0,3}$/.test(value) && versionWrong,
  };
}
