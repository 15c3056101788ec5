import { oneOf, wholeNumber } from '../../core/field.js';
import { Member } from '../../http/parsing/member.js';
import { CRASH_GROUP_STATES, type CrashGroupState } from './crash-group.rules.js';

const DEFAULT_WEEKS = 12;
/** Weekly counts are kept for 24 months, which is at most 105 weeks. */
const MAX_WEEKS = 105;
const weeksField = { parse: wholeNumber(1, MAX_WEEKS).parseText };

/** Query of `GET /support/api/fleet`. */
export class FleetQuery {
  @Member(weeksField)
  weeks = DEFAULT_WEEKS;
}

/** Query of `GET /support/api/fleet/crash-groups`. */
export class CrashGroupsQuery {
  @Member(weeksField)
  weeks = DEFAULT_WEEKS;

  @Member(oneOf(CRASH_GROUP_STATES))
  state: CrashGroupState = 'open';
}
