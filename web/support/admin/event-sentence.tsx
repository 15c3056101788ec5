import type { AuditEvent } from '../../../src/http/responses/api-types.js';
import { fill, t, UntrustedText } from '../../shared/texts/text.js';
import { messages } from '../messages.js';
import { shortId } from '../parts/machine.js';
import { hrefOf } from '../route.js';
import { actorText } from './event-texts.js';

const { history: texts } = messages;

interface Props {
  readonly event: AuditEvent;
  readonly isOfLicense: boolean;
}

/** An event as a sentence: who did what, to which license, machine or person. */
export function EventSentence({ event, isOfLicense }: Props) {
  const { actor, action } = event;
  return (
    <>
      {fill(sentenceOf(event), {
        actor: <UntrustedText text={actorText(actor)} />,
        action: <UntrustedText text={action} />,
        license: isOfLicense ? texts.thisLicense : <ConcernedLicense event={event} />,
        machine: <ConcernedMachine event={event} />,
        person: <ConcernedPerson event={event} />,
      })}
    </>
  );
}

/** The sentence of the action, or of the decision that the event records. */
function sentenceOf({ action, change }: AuditEvent): string {
  const { decision = '' } = change as { decision?: string };
  return texts.decisions[decision] ?? texts.sentences[action] ?? texts.otherSentence;
}

function ConcernedLicense({ event: { license_id, key_hint } }: { event: AuditEvent }) {
  if (!license_id) return <>{texts.noLicense}</>;
  if (!key_hint) return <>{texts.deletedLicense}</>;
  return <a href={hrefOf('license', license_id)}>{t(texts.license, { hint: key_hint })}</a>;
}

// A page of events does not know all machines, so a label may be ambiguous. The end of the id identifies the machine, also in the
// table of machines.
function ConcernedMachine({ event: { hostname_hint: label, change } }: { event: AuditEvent }) {
  const { activation_id: id } = change as { activation_id?: string };
  return (
    <>
      {label?.trim() ? fill(texts.machine, { name: <UntrustedText text={label} /> }) : texts.aMachine}
      {id && ' '}
      {id && <span class="quiet mono end">{shortId(id)}</span>}
    </>
  );
}

// An event has only the id of the person whom it concerns, and the row with the address is deleted when the person is removed. The
// end of the id shows which events concern the same person.
function ConcernedPerson({ event: { staff_email, change } }: { event: AuditEvent }) {
  if (staff_email) return <UntrustedText text={staff_email} />;
  const { staff_id = '' } = change as { staff_id?: string };
  return <>{staff_id ? t(texts.removedPerson, { id: shortId(staff_id) }) : texts.aPerson}</>;
}
