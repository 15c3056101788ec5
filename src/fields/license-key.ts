import { textField } from '../core/field.js';
import { readLicenseKey } from '../keys/license-key-text.js';
import { readPreviousKey } from '../keys/previous-key-text.js';

export const LICENSE_KEY_SENTENCE = 'must have the shape PREFIX_XXXX-XXXX-XXXX-XXXX';

/**
 * A license key that a person typed or pasted. The value has the prefix that was typed, or none: `withServicePrefix` completes it.
 */
export const licenseKeyField = textField(LICENSE_KEY_SENTENCE, readLicenseKey);

/**
 * A license key, or the key that another system issued before the license was imported. The value is the text as it was typed, of
 * which `LicenseKeys.hashesOfTyped` makes the hashes.
 */
export const licenseKeyOrPreviousField = textField(LICENSE_KEY_SENTENCE, (text) =>
  readLicenseKey(text) === null && readPreviousKey(text) === null ? null : text,
);

/** A license key of an import, which must have its prefix. */
export const completeLicenseKeyField = textField(LICENSE_KEY_SENTENCE, (text) => {
  const key = readLicenseKey(text);
  return key?.includes('_') ? key : null;
});
