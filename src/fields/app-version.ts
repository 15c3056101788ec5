import { textField } from '../core/field.js';
import { isVersion } from '../keys/manifests/version.js';

/** A version of the application (docs/contract.md#versions). */
export const appVersionField = textField('must be one to four dotted numbers, such as 3.2.0', (text) =>
  isVersion(text) ? text : null,
);
