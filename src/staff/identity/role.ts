export const ROLES = ['support', 'admin'] as const;
export type Role = (typeof ROLES)[number];
