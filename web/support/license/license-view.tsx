import { useEffect, useState } from 'preact/hooks';
import { t } from '../../shared/texts/text.js';
import { Loaded } from '../parts/loaded.js';
import { focusRow, showChange } from '../parts/show-change.js';
import { machineNames } from '../parts/machine.js';
import { ViewTitle } from '../parts/view-title.js';
import { hrefOf } from '../route.js';
import type {
  Activation,
  LicenseDetail,
  LicenseDetailAnswer,
} from '../../../src/http/responses/api-types.js';
import { useLoad } from '../use-load.js';
import { messages } from '../messages.js';
import { DecideDialog } from '../queues/decide-dialog.js';
import { useRowShortcuts } from '../queues/row-keys.js';
import { useOnDecided } from '../queues/row-states.js';
import { Facts } from './facts.js';
import { History } from './history.js';
import { LicenseActions } from './license-actions.js';
import { Machines } from './machines.js';
import { OpenRequests } from './open-requests.js';
import { Status, statusReason } from './status.js';

interface Props {
  readonly id: string;
  /** The id of the activation that was searched for; empty if none was. */
  readonly searched: string;
  readonly isAdmin: boolean;
  /** Called after an action that may have changed a queue, and after a conflict. */
  readonly onQueueChange: () => void;
  /** Called with the license each time it was loaded or changed. */
  readonly onLicense: (license: LicenseDetail) => void;
}

/** A license on one page: whose it is, where it is in use, and what was done to it. */
export function LicenseView({ id, searched, isAdmin, onQueueChange, onLicense }: Props) {
  const load = useLoad<LicenseDetailAnswer>(`licenses/${encodeURIComponent(id)}`);
  const { license: texts } = messages;
  const current = load.data?.license;
  useEffect(() => void (current && onLicense(current)), [current]);
  return (
    <div class="flow">
      <p class="small">
        <a href={hrefOf('find')}>{texts.back}</a>
      </p>
      <div class="title">
        <ViewTitle>
          {current ? t(messages.find.keyLabel, { hint: current.key_hint }) : messages.find.license}
        </ViewTitle>
        {current && <Status license={current} />}
        {current && <span class="quiet">{statusReason(current)}</span>}
      </div>
      <Loaded load={load} loadingText={texts.waiting} notFoundText={texts.notFound}>
        {({ license }) => (
          <LicenseSections
            license={license}
            searched={searched}
            isAdmin={isAdmin}
            onLicense={(changed) => load.set({ license: changed })}
            onReload={load.reload}
            onChange={async () => {
              await load.reload();
              onQueueChange();
            }}
          />
        )}
      </Loaded>
    </div>
  );
}

interface LicenseSectionsProps {
  readonly license: LicenseDetail;
  readonly searched: string;
  readonly isAdmin: boolean;
  readonly onLicense: (license: LicenseDetail) => void;
  readonly onReload: () => Promise<void>;
  /** Called after an action that may have changed the license or a queue, and after a conflict. */
  readonly onChange: () => Promise<void>;
}

function LicenseSections({
  license,
  searched,
  isAdmin,
  onLicense,
  onReload,
  onChange,
}: LicenseSectionsProps) {
  const [toRelease, setToRelease] = useState<readonly Activation[]>([]);
  const [decidedIds, setDecidedIds] = useState<readonly string[]>([]);
  useRowShortcuts();
  useOnDecided(async (ids) => {
    if (!license.activations.some(({ id }) => ids.includes(id))) return;
    // Set before the license is loaded again, so that the rows stay where they are.
    setDecidedIds([...decidedIds, ...ids]);
    await onReload();
  });
  const closeDialog = () => setToRelease([]);
  const nameOf = machineNames(license.activations);

  return (
    <>
      <Facts license={license} />
      <LicenseActions
        license={license}
        isAdmin={isAdmin}
        onDone={showChange}
        onLicense={onLicense}
        onChange={onChange}
      />
      <OpenRequests license={license} />
      <Machines license={license} searched={searched} changed={decidedIds} onRelease={setToRelease} />
      <History license={license} />
      {toRelease.length > 0 && (
        <DecideDialog
          targets={toRelease.map((activation) => ({
            activation,
            name: nameOf(activation),
            language: languageOf(license, activation),
          }))}
          decision="release"
          onClose={closeDialog}
          onConfirmed={() => {
            closeDialog();
            focusRow(toRelease[0]!.id);
          }}
        />
      )}
    </>
  );
}

/** The release of an activation decides an open request, and is mailed in its language. A decided request has no language. */
const languageOf = ({ release_requests }: LicenseDetail, { id }: Activation): string | null =>
  release_requests.find(({ activation_id, language }) => activation_id === id && language)?.language ?? null;
