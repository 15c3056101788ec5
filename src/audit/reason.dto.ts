import { optional } from '../core/field.js';
import { reasonField } from '../fields/reason.js';
import { OptionalBody, Member } from '../http/parsing/member.js';

/** A body with a required reason. */
export class ReasonRequest {
  @Member(reasonField)
  reason!: string;
}

/** A body with an optional reason. */
@OptionalBody()
export class OptionalReasonRequest {
  @Member(optional(reasonField))
  reason?: string;
}
