import { emailField } from '../fields/email.js';
import { reasonField } from '../fields/reason.js';
import { Member } from '../http/parsing/member.js';

/** Body of `POST /support/api/erasures`. */
export class ErasureRequest {
  @Member(emailField)
  email!: string;

  @Member(reasonField)
  reason!: string;
}
