import type { LicenseDetail } from '../types.js';

/** The properties of each dialog about a license. */
export interface LicenseDialogProps {
  readonly license: LicenseDetail;
  /** The address of the holder; empty if the license has none. */
  readonly email: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}
