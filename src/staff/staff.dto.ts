import { oneOf } from '../core/field.js';
import { emailField } from '../fields/email.js';
import { reasonField } from '../fields/reason.js';
import { Member } from '../http/parsing/member.js';
import { ROLES, type Role } from './identity/role.js';

/** Body of `POST /support/api/staff`. */
export class StaffRequest {
  @Member(emailField)
  email!: string;

  @Member(oneOf(ROLES))
  role!: Role;
}

/** Body of `PATCH /support/api/staff/{id}`. */
export class RoleRequest {
  @Member(oneOf(ROLES))
  role!: Role;

  @Member(reasonField)
  reason!: string;
}
