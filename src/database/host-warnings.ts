import { applicableTexts } from '../core/text.js';
import type { HostRole } from './host-choice.js';

/** What a host is, in words. */
export const HOST_ROLES: Readonly<Record<HostRole, string>> = {
  primary: 'is the primary',
  standby: 'is a standby',
  read_only: 'is read-only',
  outdated: 'is a former primary, which is not written to',
  other_cluster: 'is another database, which is not written to',
  unreachable: 'does not answer',
};

/** Returns the warnings about the hosts of DATABASE_URL. They are public, so they count the hosts and do not name them. */
export function hostWarnings(hosts: readonly { readonly role: HostRole }[]): string[] {
  const count = (...roles: HostRole[]) => hosts.filter(({ role }) => roles.includes(role)).length;
  const unreachable = count('unreachable');
  const refused = count('read_only', 'outdated', 'other_cluster');
  return applicableTexts([
    unreachable > 0 && `Hosts of DATABASE_URL that do not answer: ${unreachable}. mooring doctor names them.`,
    refused > 0 &&
      `Hosts of DATABASE_URL that are neither primary nor standby: ${refused}. mooring doctor says what they are.`,
    count('primary') > 1 &&
      'Several hosts of DATABASE_URL are primaries: only one of them is used. mooring doctor names them.',
  ]);
}
