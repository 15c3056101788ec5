import type { LicenseDetail } from '../types.js';

/** The properties of each dialog about a license. */
export interface LicenseDialogProps {
  readonly license: LicenseDetail;
  readonly email: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}
