import { reasonRule } from './reason.rules.js';
import { Member, MayBeLeftOut } from '../http/parsing/members.pipe.js';

/** A rule for a member that may be absent. */
export const optional = (rule: (value: unknown) => string | undefined) => (value: unknown) =>
  value === undefined ? undefined : rule(value);

/** A rule for a member that must be one of a few words. */
export const oneOf = (allowed: readonly string[]) => (value: unknown) =>
  allowed.some((each) => each === value) ? undefined : `must be one of ${allowed.join(', ')}`;

/** A body that says why, and nothing else. */
export class ReasonRequest {
  @Member(reasonRule)
  reason!: string;
}

/** A body that may say why. */
@MayBeLeftOut()
export class OptionalReasonRequest {
  @Member(optional(reasonRule))
  reason?: string;
}
