import { emailRule } from '../activation/activation.dto.js';
import { reasonRule } from '../audit/reason.rules.js';
import { Member } from '../http/parsing/members.pipe.js';

/** Body of `POST /support/api/erasures`. */
export class ErasureRequest {
  @Member(emailRule)
  email!: string;

  @Member(reasonRule)
  reason!: string;
}
