import { textField } from '../core/field.js';
import { MAX_TOKEN_LENGTH } from '../keys/tokens/license-token.js';

/** The text of a license token. The field checks only its length; `verifyLicenseToken` verifies the token. */
export const licenseTokenField = textField('must be a license token of at most 2 KiB', (text) =>
  text !== '' && Buffer.byteLength(text) <= MAX_TOKEN_LENGTH ? text : null,
);
