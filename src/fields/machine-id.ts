import { textField } from '../core/field.js';

/** A machine id (docs/keys.md#machine-ids): a SHA-256 digest in hex; its 32 bytes. */
export const machineIdField = textField('must be 64 hex digits', (text) =>
  /^[0-9a-fA-F]{64}$/.test(text) ? Buffer.from(text, 'hex') : null,
);
