import type { ComponentChildren } from 'preact';

/** The props of both forms of `SignIn`: `KeyForm` and `CodeForm`. */
export interface FormProps {
  readonly email: string;
  readonly onEmail: (email: string) => void;
  readonly licenseKey: string;
  readonly onLicenseKey: (key: string) => void;
  readonly onSignedIn: () => Promise<void>;
  /** The text that says what a mailed code is used for. Only `CodeForm` shows it. */
  readonly lead: string;
  /** Further buttons beside the submit button, or in the line below it. */
  readonly extra: ComponentChildren;
}
