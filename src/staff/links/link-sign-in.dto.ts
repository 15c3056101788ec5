import { textField } from '../../core/field.js';
import { Member } from '../../http/parsing/member.js';

/** Body of `POST /support/api/session/link`. */
export class LinkRequest {
  @Member(
    textField('must be the 43 characters after #link= in the address', (text) =>
      /^[\w-]{43}$/.test(text) ? text : null,
    ),
  )
  link!: string;
}
