import { expect, test } from '@jest/globals';
import { errorFields } from '../../src/core/logger.js';

test('the log keeps where an error was thrown, and nothing of its text', () => {
  const error = new TypeError('bad value x\n    at ada@example.com\n    at eve (/x/y.js:1:2)\nmore');
  const fields = errorFields(error);
  expect(fields).toMatchObject({ error: 'TypeError', at: expect.stringContaining('log.test') });
  expect(JSON.stringify(fields)).not.toMatch(/bad value|ada@|eve|more/);
});

test('the log keeps the code and the constraint of a database error', () => {
  const driverError = Object.assign(new Error('Key (email)=(ada@example.com) already exists'), {
    code: '23505',
    constraint: 'staff_email_key',
    detail: 'Key (email)=(ada@example.com) already exists.',
  });
  const fields = errorFields(Object.assign(new Error('QueryFailed'), { driverError }));
  expect(fields).toMatchObject({ code: '23505', constraint: 'staff_email_key' });
  expect(JSON.stringify(fields)).not.toContain('ada');
});

test('a thrown value that is not an error is logged by its type alone', () => {
  expect(errorFields('ada@example.com')).toEqual({ error: 'string' });
});
