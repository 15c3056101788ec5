import { textField } from '../core/field.js';
import { canonicalLicenseKey } from '../keys/license-key.js';

/** A license key, in the form of `canonicalLicenseKey`. */
export const licenseKeyField = textField(
  'must have the shape PREFIX_XXXX-XXXX-XXXX-XXXX',
  canonicalLicenseKey,
);
