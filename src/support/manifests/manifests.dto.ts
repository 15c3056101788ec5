import { oneOf, optional } from '../../core/field.js';
import { Member } from '../../http/parsing/member.js';

type Flag = 'true' | 'false' | undefined;
const flag = optional(oneOf(['true', 'false']));

/** Query of `POST /support/api/manifests`. */
export class PublishQuery {
  /** Whether the manifest withdraws the live version. */
  @Member(flag)
  withdraw: Flag;

  /** Whether the manifest is only checked. */
  @Member(flag)
  dry_run: Flag;
}
