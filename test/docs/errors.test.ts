import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { errorsAsHtml, errorsAsMarkdown } from '../../src/http/problems/problem-docs.js';
import { PROBLEMS, type ClientAction, type ProblemCode } from '../../src/http/problems/problem.js';

/** The status and `client_action` of each code, written by hand to detect a change by mistake. */
const EXPECTED: Record<ProblemCode, [status: number, client_action: ClientAction]> = {
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
  another_person: [412, 'fix'],
  cross_origin: [403, 'fix'],
  mailbox_proof_needed: [403, 'fix'],
  release_needs_support: [403, 'fix'],
  code_invalid: [403, 'fix'],
  link_invalid: [403, 'fix'],
  passkey_invalid: [403, 'fix'],
  key_not_mailable: [409, 'fix'],
  license_changed: [412, 'fix'],
  idempotency_key_reused: [422, 'fix'],
  manifest_refused: [422, 'fix'],
  crash_group_changed: [412, 'fix'],
  license_erased: [409, 'fix'],
  has_passkey: [409, 'fix'],
  last_admin: [409, 'fix'],
  webhook_signature_invalid: [403, 'fix'],
  too_many_requests: [429, 'retry'],
  internal_error: [500, 'retry'],
  unavailable: [503, 'retry'],
};

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
    const { status, client_action } = PROBLEMS[code as ProblemCode];
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
    page.replaceAll(/<\/?(html|main|meta|title|style|h1|h2|p|section|code|strong|!doctype)\b[^<>]*>/g, ''),
  ).not.toMatch(/</);
});
