import { textField } from '../core/field.js';
import { readLicenseKey } from '../keys/license-key-text.js';

const SENTENCE = 'must have the shape PREFIX_XXXX-XXXX-XXXX-XXXX';

/** A license key that a person typed or pasted, with or without its prefix. The canonical value is that of `readLicenseKey`. */
export const licenseKeyField = textField(SENTENCE, (text) => readLicenseKey(text));

/** A license key of an import, which must have its prefix. */
export const completeLicenseKeyField = textField(SENTENCE, (text) => {
  const key = readLicenseKey(text);
  return key?.includes('_') ? key : null;
});
