import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { errorsAsHtml, errorsAsMarkdown } from '../../src/http/problems/problem-docs.js';
import { PROBLEMS } from '../../src/http/problems/problem.js';

/** The status and `client_action` of each code on which clients rely, written by hand to detect a change by mistake. */
const EXPECTED = {
  malformed_request: [400, 'fix'],
  not_found: [404, 'fix'],
  method_not_allowed: [405, 'fix'],
  body_too_large: [413, 'fix'],
  unsupported_media_type: [415, 'fix'],
  invalid_request: [422, 'fix'],
  license_not_found: [404, 'stop'],
  license_suspended: [403, 'stop'],
  license_refunded: [403, 'stop'],
  license_revoked: [403, 'stop'],
  license_expired: [403, 'stop'],
  version_not_covered: [403, 'stop'],
  machine_limit_reached: [409, 'stop'],
  binding_released: [403, 'stop'],
  token_invalid: [403, 'reactivate'],
  no_version_published: [404, 'retry'],
  sign_in_required: [401, 'fix'],
  forbidden: [403, 'fix'],
  internal_error: [500, 'retry'],
  unavailable: [503, 'retry'],
} as const;

/** The only codes that may stop a paid application. Each of them means that the license is not valid on this machine. */
const STOPPING_CODES = [
  'binding_released',
  'license_expired',
  'license_not_found',
  'license_refunded',
  'license_revoked',
  'license_suspended',
  'machine_limit_reached',
  'version_not_covered',
];

test('docs/errors.md is generated from the catalogue (npm run docs:errors writes it)', () => {
  expect(readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')).toBe(errorsAsMarkdown());
});

test.each(Object.entries(EXPECTED))(
  '%s has the status and client_action on which clients rely',
  (code, expected) => {
    const { status, client_action } = PROBLEMS[code as keyof typeof EXPECTED];
    expect([status, client_action]).toEqual(expected);
  },
);

test('only a code that means that the license is not valid on this machine may stop an application', () => {
  const stopping = Object.entries(PROBLEMS).filter(([, { client_action }]) => client_action === 'stop');
  expect(stopping.map(([code]) => code).toSorted()).toEqual(STOPPING_CODES);
});

test('the page /docs/errors has a section for every code, with the code as its id, and no unintended markup', () => {
  const page = errorsAsHtml();
  for (const code of Object.keys(PROBLEMS)) expect(page).toContain(`<section id="${code}">`);
  // Without the tags of the page, no < is left: no sentence became markup.
  expect(
    page.replaceAll(/<\/?(html|meta|title|h1|h2|p|section|code|strong|!doctype)\b[^<>]*>/g, ''),
  ).not.toMatch(/</);
});
