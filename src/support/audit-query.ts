import { validate as isUuid } from 'uuid';
import { parseMoment } from '../core/clock.js';
import { Invalid, textField, type Field } from '../core/field.js';
import { invalidMembers } from '../http/problems/problem.js';

/** The parameters that limit the entries of the audit trail. */
export interface AuditQuery {
  readonly license_id?: string;
  /** An id from `GET /support/api/audit/filters`. */
  readonly actor_id?: string;
  readonly action?: string;
  /** The first time. */
  readonly from?: Date;
  /** The time after the last one. */
  readonly to?: Date;
  /** The id of an entry: only older ones are read. */
  readonly cursor?: string;
}

const uuidField = (sentence: string) => textField(sentence, (text) => (isUuid(text) ? text : null));
const momentField = textField('must be a time in RFC 3339, or a day in UTC', parseMoment);
const matching = (sentence: string, pattern: RegExp) =>
  textField(sentence, (text) => (pattern.test(text) ? text : null));

const FIELDS: { readonly [Name in keyof AuditQuery]-?: Field<NonNullable<AuditQuery[Name]>> } = {
  license_id: uuidField('must be a license id'),
  actor_id: matching('must be the id of an actor', /^[\w-]{16}$/),
  action: matching('must be an action', /^[a-z_.]{1,64}$/),
  from: momentField,
  to: momentField,
  cursor: uuidField('must be a `next_cursor`'),
};

/** Reads the parameters of a URL. @throws Problem `invalid_request` */
export function parseAuditQuery(parameters: Readonly<Record<string, unknown>>): AuditQuery {
  const given = Object.entries(FIELDS).filter(([name]) => parameters[name] !== undefined);
  const values = given.map(([name, { parse }]) => [name, parse(parameters[name])] as const);
  const invalid = values.flatMap(([name, value]) =>
    value instanceof Invalid ? [[name, value.sentence]] : [],
  );
  if (invalid.length > 0) throw invalidMembers(Object.fromEntries(invalid) as Record<string, string>);
  return Object.fromEntries(values) as AuditQuery;
}
