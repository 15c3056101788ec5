import { optional } from '../core/field.js';
import { reasonField } from '../fields/reason.js';
import { OptionalBody, Member } from '../http/parsing/member.js';

/** The body of a request whose only member is a required reason. */
export class ReasonRequest {
  @Member(reasonField)
  reason!: string;
}

/** The body of a request whose only member is an optional reason. The body itself may be missing. */
@OptionalBody()
export class OptionalReasonRequest {
  @Member(optional(reasonField))
  reason?: string;
}
