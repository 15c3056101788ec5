import { parseMoment } from '../../core/clock.js';
import { optional, textField } from '../../core/field.js';
import { uuidField } from '../../fields/uuid.js';
import { Member } from '../../http/parsing/member.js';

const momentField = textField('must be a time in RFC 3339, or a day in UTC', parseMoment);
const matching = (sentence: string, pattern: RegExp) =>
  textField(sentence, (text) => (pattern.test(text) ? text : null));

/** Query of `GET /support/api/audit` and of its export: what limits the events of the audit trail. */
export class AuditQuery {
  @Member(optional(uuidField('must be a license id')))
  license_id?: string;

  /** An id from `GET /support/api/audit/filters`. */
  @Member(optional(matching('must be the id of an actor', /^[\w-]{16}$/)))
  actor_id?: string;

  @Member(optional(matching('must be an action', /^[a-z_.]{1,64}$/)))
  action?: string;

  /** Only events at this time or later. */
  @Member(optional(momentField))
  from?: Date;

  /** Only events before this time. */
  @Member(optional(momentField))
  to?: Date;

  /** The id of an event: only older ones are read. */
  @Member(optional(uuidField('must be a `next_cursor`')))
  cursor?: string;
}
