import { expiryText } from '../../shared/dates/expiry.js';
import type { LicenseView } from '../../shared/api/api-types.js';
import { messages } from '../messages.js';

/** What the expiry of a license means. */
export function Expiry({ license }: { license: Pick<LicenseView, 'expires_at' | 'on_expiry'> }) {
  return <>{expiryText(license, messages.license.expiry)}</>;
}
