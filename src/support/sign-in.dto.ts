import { text } from '../activation/activation.dto.js';
import { Member } from '../http/members.pipe.js';

/** Body of `POST /support/api/session/link`. */
export class LinkRequest {
  @Member(
    text((value) => /^[\w-]{43}$/.test(value), 'must be the 43 characters behind #link= of the address'),
  )
  link!: string;
}
