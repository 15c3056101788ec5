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
import { Status, statusWhy } from './status.js';

interface Props {
  readonly id: string;
  /** The id of the activation that was searched for; empty if none was. */
  readonly searched: string;
  readonly isAdmin: boolean;
  /** What was done here may have taken something out of a queue. */
  readonly onQueueChange: () => void;
  /** The license as it is now. */
  readonly onLicense: (license: LicenseDetail) => void;
}

/** A license on one page: whose it is, where it is in use, and what was done to it. */
export function LicenseView({ id, searched, isAdmin, onQueueChange, onLicense }: Props) {
  const load = useLoad<LicenseDetailAnswer>(`licenses/${encodeURIComponent(id)}`);
  const { license: texts } = messages;
  const known = load.data?.license;
  useEffect(() => void (known && onLicense(known)), [known]);
  return (
    <div class="flow">
      <p class="small">
        <a href={hrefOf('find')}>{texts.back}</a>
      </p>
      <div class="title">
        <ViewTitle>{known ? t(texts.title, { hint: known.key_hint }) : messages.find.license}</ViewTitle>
        {known && <Status license={known} />}
        {known && <span class="quiet">{statusWhy(known)}</span>}
      </div>
      <Loaded load={load} waiting={texts.waiting} notFound={texts.notFound}>
        {({ license }) => (
          <OneLicense
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

interface OneProps {
  readonly license: LicenseDetail;
  readonly searched: string;
  readonly isAdmin: boolean;
  readonly onLicense: (license: LicenseDetail) => void;
  readonly onChange: () => Promise<void>;
}

function OneLicense({ license, searched, isAdmin, onLicense, onChange }: OneProps) {
  const [releasing, setReleasing] = useState<Activation>();
  const [changed, setChanged] = useState<string>();

  function show(text: string, row?: string) {
    setChanged(row);
    showChange(text, row);
  }

  async function released({ activation, was_active }: ReleaseAnswer) {
    setReleasing(undefined);
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
      <Machines license={license} searched={searched} changed={changed} onRelease={setReleasing} />
      <History license={license} />
      {releasing && (
        <ReleaseDialog
          activation={releasing}
          onClose={() => setReleasing(undefined)}
          onReleased={(answer) => void released(answer)}
        />
      )}
    </>
  );
}

/** The license as it is with a binding that has ended just now. */
function withActivation(license: LicenseDetail, activation: Activation): LicenseDetail {
  const activations = license.activations.map((each) => (each.id === activation.id ? activation : each));
  return {
    ...license,
    activations,
    machines_in_use: activations.filter(({ state }) => state === 'active').length,
  };
}
