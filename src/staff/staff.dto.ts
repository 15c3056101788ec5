import { emailRule } from '../activation/activation.dto.js';
import { reasonRule } from '../audit/reason.rules.js';
import { Member } from '../http/parsing/members.pipe.js';
import { ROLES, type Role } from './staff.entity.js';
import { oneOf } from '../audit/reason.dto.js';

/** Body of `POST /support/api/staff`. */
export class StaffRequest {
  @Member(emailRule)
  email!: string;

  @Member(oneOf(ROLES))
  role!: Role;
}

/** Body of `PATCH /support/api/staff/{id}`. */
export class RoleRequest {
  @Member(oneOf(ROLES))
  role!: Role;

  @Member(reasonRule)
  reason!: string;
}
