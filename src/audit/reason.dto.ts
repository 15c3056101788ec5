import { reasonRule } from './reason.rules.js';
import { Member, MayBeLeftOut } from '../http/parsing/members.pipe.js';

/** Builds a rule for a member that may be absent. */
export const optional = (rule: (value: unknown) => string | undefined) => (value: unknown) =>
  value === undefined ? undefined : rule(value);

/** Builds a rule for a member with a fixed list of values. */
export const oneOf = (allowed: readonly string[]) => (value: unknown) =>
  allowed.some((each) => each === value) ? undefined : `must be one of ${allowed.join(', ')}`;

/** A body with a required reason. */
export class ReasonRequest {
  @Member(reasonRule)
  reason!: string;
}

/** A body with an optional reason. */
@MayBeLeftOut()
export class OptionalReasonRequest {
  @Member(optional(reasonRule))
  reason?: string;
}
