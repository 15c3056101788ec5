import { useEffect, useState } from 'preact/hooks';
import { t } from '../../shared/text.js';
import { Loaded } from '../parts/loaded.js';
import { showChange } from '../parts/show-change.js';
import { ViewTitle } from '../parts/view-title.js';
import { hrefOf } from '../route.js';
import type { Activation, LicenseDetailAnswer, ReleaseAnswer } from '../../shared/api-types.js';
import type { LicenseDetail } from '../types.js';
import { useLoad } from '../use-load.js';
import { messages } from '../messages.js';
import { Facts } from './facts.js';
import { History } from './history.js';
import { LicenseActions } from './license-actions.js';
import { Machines } from './machines.js';
import { OpenRequests } from './open-requests.js';
import { ReleaseDialog } from './release-dialog.js';
import { machineText } from '../parts/machine.js';
import { Status, statusReason } from './status.js';

interface Props {
  readonly id: string;
  /** The id of the activation that was searched for; empty if none was. */
  readonly searched: string;
  readonly isAdmin: boolean;
  /** Called after an action that may have removed something from a queue. */
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
        <ViewTitle>{current ? t(texts.title, { hint: current.key_hint }) : messages.find.license}</ViewTitle>
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
  readonly onChange: () => Promise<void>;
}

function LicenseSections({ license, searched, isAdmin, onLicense, onChange }: LicenseSectionsProps) {
  const [activationToRelease, setActivationToRelease] = useState<Activation>();
  const [changed, setChanged] = useState<string>();

  function show(text: string, row?: string) {
    setChanged(row);
    showChange(text, row);
  }

  async function handleReleased({ activation, was_active }: ReleaseAnswer) {
    setActivationToRelease(undefined);
    onLicense(withActivation(license, activation));
    const sentence = was_active ? messages.release.done : messages.requests.meanwhileReleased;
    show(t(sentence, { machine: machineText(activation.hostname_hint) }), activation.id);
    // The history and the open requests have changed too.
    await onChange();
  }

  return (
    <>
      <Facts license={license} />
      <LicenseActions
        license={license}
        isAdmin={isAdmin}
        onDone={show}
        onLicense={onLicense}
        onChange={onChange}
      />
      <OpenRequests license={license} onChange={onChange} onDone={show} />
      <Machines license={license} searched={searched} changed={changed} onRelease={setActivationToRelease} />
      <History license={license} />
      {activationToRelease && (
        <ReleaseDialog
          activation={activationToRelease}
          onClose={() => setActivationToRelease(undefined)}
          onReleased={(answer) => void handleReleased(answer)}
        />
      )}
    </>
  );
}

/** Returns the license with the new state of an activation that has just ended. */
function withActivation(license: LicenseDetail, activation: Activation): LicenseDetail {
  const activations = license.activations.map((each) => (each.id === activation.id ? activation : each));
  return {
    ...license,
    activations,
    machines_in_use: activations.filter(({ state }) => state === 'active').length,
  };
}
