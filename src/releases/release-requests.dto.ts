import { reasonRule } from '../audit/reason.rules.js';
import { Member } from '../http/parsing/members.pipe.js';
import { DECISIONS, type Decision } from './release-decisions.js';
import { oneOf } from '../audit/reason.dto.js';

/** Body of `POST /support/api/release-requests/{id}`. */
export class DecisionRequest {
  @Member(oneOf(DECISIONS))
  decision!: Decision;

  @Member(reasonRule)
  reason!: string;
}
