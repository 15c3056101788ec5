import { oneOf } from '../core/field.js';
import { reasonField } from '../fields/reason.js';
import { Member } from '../http/parsing/member.js';
import { DECISIONS, type Decision } from './release-requests.js';

/** Body of `POST /support/api/release-requests/{id}`. */
export class DecisionRequest {
  @Member(oneOf(DECISIONS))
  decision!: Decision;

  @Member(reasonField)
  reason!: string;
}
