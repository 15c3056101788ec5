import { textField } from '../core/field.js';

/** A machine id (docs/keys.md#machine-ids): a SHA-256 digest, as hex in a request, as 32 bytes in its canonical form. */
export const machineIdField = textField('must be 64 hex digits', (text) =>
  /^[0-9a-fA-F]{64}$/.test(text) ? Buffer.from(text, 'hex') : null,
);
