import { parseMoment } from '../core/clock.js';
import { MACHINES_ALLOWED, ON_EXPIRY } from '../core/config.js';
import { oneOf, textField, wholeNumber, type Field } from '../core/field.js';

/** What a text must be for `parseMoment`, in error sentences. */
const A_MOMENT = 'a day such as 2027-01-04 or a time such as 2027-01-04T12:00:00Z';

/** The number of machines on which a license may be active at once. */
export const machinesAllowedField = wholeNumber(MACHINES_ALLOWED.min, MACHINES_ALLOWED.max);

/** What happens when a license expires. */
export const onExpiryField = oneOf(ON_EXPIRY);

/** A moment, as a day (its first second in UTC) or in RFC 3339. */
export const momentField = textField(`must be ${A_MOMENT}`, parseMoment);

const nullableMoment = textField(
  'must be null, a day such as 2027-01-04, or a time such as 2027-01-04T12:00:00Z',
  parseMoment,
);

/** The expiry of a license in a request; null if it never expires. */
export const expiryField: Field<Date | null> = {
  parse: (input) => (input === null ? null : nullableMoment.parse(input)),
};

/** The expiry of a license in an option or a cell of a file: a moment, or the word `never`, which is not converted. */
export const expiryTextField = textField(`must be ${A_MOMENT}, or never`, (text) =>
  text === 'never' ? text : parseMoment(text),
);
