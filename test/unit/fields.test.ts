import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { MACHINES_ALLOWED } from '../../src/core/config.js';
import { Invalid, oneOf, optional, textField, wholeNumber } from '../../src/core/field.js';
import { emailField } from '../../src/fields/email.js';
import { expiryField, expiryTextField, machinesAllowedField } from '../../src/fields/license-terms.js';
import { licenseKeyField } from '../../src/fields/license-key.js';
import { machineIdField } from '../../src/fields/machine-id.js';
import { MAX_TRANSACTION_ID_LENGTH } from '../../src/fields/max-transaction-id-length.js';
import { transactionIdField } from '../../src/fields/transaction-id.js';
import { readOpenApi } from '../support/http/openapi.js';

const { min, max } = MACHINES_ALLOWED;

describe('a field gives the canonical value', () => {
  test.each([
    [emailField, ' Ada@Example.COM ', 'ada@example.com'],
    [licenseKeyField, 'moor_oil0-0000-0000-0000', 'MOOR_0110-0000-0000-0000'],
    [machineIdField, 'AB'.repeat(32), Buffer.alloc(32, 0xab)],
    [expiryField, null, null],
    [expiryField, '2027-01-04', new Date('2027-01-04T00:00:00Z')],
    [expiryTextField, 'never', 'never'],
    [machinesAllowedField, max, max],
    [transactionIdField, 'txn_1', 'txn_1'],
    [transactionIdField, '𠮷'.repeat(MAX_TRANSACTION_ID_LENGTH), '𠮷'.repeat(MAX_TRANSACTION_ID_LENGTH)],
    [optional(emailField), undefined, undefined],
    [oneOf(['keep', 'stop']), 'stop', 'stop'],
  ])('%#: for the input %j', (field, input, value) => expect(field.parse(input)).toEqual(value));
});

describe('a field refuses', () => {
  test.each([
    [emailField, undefined, 'must be an e-mail address of at most 254 characters'],
    [emailField, 'a\0@example.com', 'must not hold a NUL or half a surrogate pair'],
    [oneOf(['keep', 'stop']), 'toString', 'must be one of keep, stop'],
    [wholeNumber(1, 9), '7', 'must be a whole number from 1 to 9'],
    [wholeNumber(1, 9), 7.5, 'must be a whole number from 1 to 9'],
    [
      expiryField,
      undefined,
      'must be null, a day such as 2027-01-04, or a time such as 2027-01-04T12:00:00Z',
    ],
    [textField('must be short', () => new Invalid('must be shorter')), 'long', 'must be shorter'],
  ])('%#: %j', (field, input, sentence) => expect(field.parse(input)).toEqual(new Invalid(sentence)));

  test.each([
    '',
    ' txn_1',
    'txn_1 ',
    'txn 1',
    'txn\t1',
    'txn_1\x7f',
    '\x01',
    'x'.repeat(MAX_TRANSACTION_ID_LENGTH + 1),
  ])('the id of a transaction: %j', (text) =>
    expect(transactionIdField.parse(text)).toEqual(
      new Invalid(
        `must be a string of 1 to ${MAX_TRANSACTION_ID_LENGTH} characters, without spaces or control characters`,
      ),
    ),
  );

  test.each(['', '-1', '1.0', '1e3', '0', '100001', ' 7'])(
    'the number of machines as text, in an option or an imported file: %j',
    (text) => expect(machinesAllowedField.parseText(text)).toBeInstanceOf(Invalid),
  );
});

interface Schema {
  readonly minimum?: number;
  readonly maximum?: number;
}

/** Every schema that has the name `machines_allowed` and a limit. */
function limitsOf(node: unknown, name = ''): Schema[] {
  if (typeof node !== 'object' || node === null) return [];
  const found = name === 'machines_allowed' && 'maximum' in node ? [node as Schema] : [];
  return [...found, ...Object.entries(node).flatMap(([key, each]) => limitsOf(each, key))];
}

test('the number of machines has the same limits in the API document, the database schema and the support page', () => {
  const limits = limitsOf(readOpenApi());
  expect(limits.length).toBeGreaterThanOrEqual(2);
  for (const { minimum, maximum } of limits) expect([minimum, maximum]).toEqual([min, max]);
  const read = (path: string) => readFileSync(path, 'utf8');
  expect(read('migrations/0001_schema.sql')).toContain(`machines_allowed between ${min} and ${max}`);
  expect(read('web/support/license/term-fields.ts')).toContain(
    `MACHINES_MAX = ${max.toLocaleString('en').replace(',', '_')};`,
  );
});
