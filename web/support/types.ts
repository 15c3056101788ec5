import type { ReleaseDecision, StaffMember } from '../../src/http/responses/api-types.js';

// Names for members of answers.
export type Role = StaffMember['role'];
export type Decision = ReleaseDecision['decision'];
