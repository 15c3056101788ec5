import { oneOf } from '../../core/field.js';
import { appVersionField } from '../../fields/app-version.js';
import { reasonField } from '../../fields/reason.js';
import { Member } from '../../http/parsing/member.js';
import { CRASH_GROUP_STATES, type CrashGroupState } from './crash-group.rules.js';

/** Body of `PATCH /support/api/fleet/crash-groups/{crash_sig}`. */
export class CrashGroupChangeRequest {
  @Member(oneOf(CRASH_GROUP_STATES))
  state!: CrashGroupState;

  /** Ignored unless the state is `resolved`. */
  @Member<CrashGroupChangeRequest>(appVersionField, { when: ({ state }) => state === 'resolved' })
  resolved_in?: string;

  @Member(reasonField)
  reason!: string;
}
