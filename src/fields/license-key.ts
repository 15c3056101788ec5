import { textField } from '../core/field.js';
import { readLicenseKey } from '../keys/license-key-text.js';

const SENTENCE = 'must have the shape PREFIX_XXXX-XXXX-XXXX-XXXX';

/** A license key that a person typed or pasted, in the form of `readLicenseKey`. It may lack the prefix. */
export const licenseKeyField = textField(SENTENCE, (text) => readLicenseKey(text));

/** A license key with its prefix, for an import. */
export const completeLicenseKeyField = textField(SENTENCE, (text) => {
  const key = readLicenseKey(text);
  return key?.includes('_') ? key : null;
});
