import type { LicenseDetail } from '../../../src/http/responses/api-types.js';

/** The properties of each dialog about a license. */
export interface LicenseDialogProps {
  readonly license: LicenseDetail;
  /** The address of the holder; empty if the license has none. */
  readonly email: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** The properties of a dialog whose change is refused if it is based on an old revision of the license. */
export interface ConditionalDialogProps extends LicenseDialogProps {
  /** Called if the license was changed since the dialog was opened. Loads it again. */
  readonly onConflict: () => Promise<void>;
}
