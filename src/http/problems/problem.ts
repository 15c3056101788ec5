import { timesAsText } from '../../core/clock.js';

// The file is long, because it is the catalogue of all problems.

/**
 * The instruction to the client. Nothing stops a paid application but `stop`, or a restart after seven days offline
 * (docs/contract.md#errors). So a code has `stop` only if the license is not valid on this machine, or not for the version that
 * runs.
 */
export type ClientAction = 'retry' | 'fix' | 'reactivate' | 'stop';

type Members = Readonly<Record<string, unknown>>;

/** What all problems with the same code have in common. */
interface Kind {
  readonly status: number;
  readonly client_action: ClientAction;
  readonly title: string;
  /** The condition under which the problem is returned, as text of docs/errors.md. */
  readonly when: string;
  /** Text for people, made from the members of the problem and never from the request. */
  readonly detail: string | ((members: Members) => string);
}

/** The `detail` of `key_not_mailable`, by its member `reason`. */
const NOT_MAILABLE_DETAILS = {
  not_made_here:
    'The service cannot make this key again: only its holder has it, so it cannot be mailed. Support can replace it with a new one.',
  refunded: 'The purchase of this license was refunded, so it gets no key by mail any more.',
  revoked: 'This license was revoked, so it gets no key by mail.',
  erased: 'This license has no e-mail address any more.',
} as const;

/** All problems of the service, by code. `docs/errors.md` is made from them. A code never changes its meaning. */
export const PROBLEMS = {
  malformed_request: {
    status: 400,
    client_action: 'fix',
    title: 'The request is malformed',
    when: 'The body is not a JSON object in UTF-8, or the request is not valid HTTP, such as one without a host.',
    detail: 'The request must be valid HTTP with a host, and its body one JSON object, encoded in UTF-8.',
  },
  not_found: {
    status: 404,
    client_action: 'fix',
    title: 'There is nothing at this address',
    when: 'The route is unknown, or the thing does not exist for this caller.',
    detail: 'Nothing exists at this address.',
  },
  method_not_allowed: {
    status: 405,
    client_action: 'fix',
    title: 'This address does not take this method',
    when: 'The route exists with another method; `allow` names it.',
    detail: 'Use one of the methods that the allow header names.',
  },
  body_too_large: {
    status: 413,
    client_action: 'fix',
    title: 'The body is too large',
    when: 'The body is over 16 KiB; over 64 KiB for a purchase report, over 256 KiB for a manifest.',
    detail: 'A body may hold at most 16 KiB, a purchase report at most 64 KiB, a manifest at most 256 KiB.',
  },
  unsupported_media_type: {
    status: 415,
    client_action: 'fix',
    title: 'The body is not declared as plain JSON',
    when: 'The content type is not `application/json`, or the headers declare another charset than UTF-8 or a compressed body.',
    detail: 'Send the body with content-type: application/json, in UTF-8 and not compressed.',
  },
  invalid_request: {
    status: 422,
    client_action: 'fix',
    title: 'A member of the request is not valid',
    when: 'A member has the wrong shape; `errors[]` names each by JSON pointer.',
    detail: 'At least one member of the request has the wrong shape; errors names each.',
  },
  license_not_found: {
    status: 404,
    client_action: 'stop',
    title: 'No license has this key and e-mail address',
    when: "The key is unknown, or the e-mail is not the license's: the same answer for both.",
    detail: 'Check the license key and the e-mail address it was bought with.',
  },
  license_suspended: {
    status: 403,
    client_action: 'stop',
    title: 'This license is suspended',
    when: 'Staff suspended it, or its payment is disputed.',
    detail: 'This license is suspended for now. Please write to support.',
  },
  license_refunded: {
    status: 403,
    client_action: 'stop',
    title: 'This license was refunded',
    when: 'Its purchase was refunded.',
    detail: 'The purchase of this license was refunded, which ended it.',
  },
  license_revoked: {
    status: 403,
    client_action: 'stop',
    title: 'This license was revoked',
    when: 'Staff revoked it.',
    detail: 'This license was revoked. Please write to support.',
  },
  license_expired: {
    status: 403,
    client_action: 'stop',
    title: 'This license has expired',
    when: 'It expired, and its `on_expiry` is `stop`; carries `expired_at`.',
    detail: ({ expired_at }) => `This license expired at ${String(expired_at)}.`,
  },
  version_not_covered: {
    status: 403,
    client_action: 'stop',
    title: 'This license does not cover this version',
    when:
      "The reported version was published with a minimum license expiry later than the license's; carries " +
      '`minimum_license_expiry`, `newest_covered_version` and its `download_url`.',
    detail: ({ newest_covered_version }) =>
      newest_covered_version
        ? `This license covers versions up to ${String(newest_covered_version)}.`
        : 'This license covers no published version.',
  },
  machine_limit_reached: {
    status: 409,
    client_action: 'stop',
    title: 'All machines of this license are in use',
    when: 'Activate only; carries `machines_allowed`, `machines_in_use`, `portal_url` and `release_url`.',
    detail: ({ machines_in_use, machines_allowed, portal_url }) => {
      // More than one if the limit was lowered.
      const toRelease = Number(machines_in_use) - Number(machines_allowed) + 1;
      return (
        `This license is active on ${String(machines_in_use)} of ${String(machines_allowed)} machines. ` +
        `Release ${toRelease === 1 ? 'one' : toRelease} at ${String(portal_url)}.`
      );
    },
  },
  binding_released: {
    status: 403,
    client_action: 'stop',
    title: 'This machine was released from its license',
    when:
      'Heartbeat only: the activation was released, and this machine has no other one on the license. The released machine must ' +
      'not activate again by itself.',
    detail: 'This machine was released from its license. Activate again to use it here.',
  },
  token_invalid: {
    status: 403,
    client_action: 'reactivate',
    title: 'This token cannot be used',
    when:
      'The token is not of this service or was changed, its activation is unknown, its signing key was revoked, or its ' +
      'activation was released and the same machine was activated again since.',
    detail: 'The token cannot be used. Activate again with the license key and e-mail address.',
  },
  no_version_published: {
    status: 404,
    client_action: 'retry',
    title: 'No version is published yet',
    when: 'Manifest only: nothing was published so far.',
    detail: 'No version of this product has been published yet.',
  },
  sign_in_required: {
    status: 401,
    client_action: 'fix',
    title: 'Sign in first',
    when: 'Portal and support only: no session, or one that has ended; on support, no staff token that the route accepts either.',
    detail: 'You are not signed in, or your session has ended.',
  },
  forbidden: {
    status: 403,
    client_action: 'fix',
    title: 'This role may not do that',
    when: 'Support only: the role does not allow it.',
    detail: 'Your role does not allow this.',
  },
  another_person: {
    status: 412,
    client_action: 'fix',
    title: 'Another person is signed in',
    when: 'Support and portal only: the request names another person, by `staff-id` or by `email`, than the one who is signed in.',
    detail: 'Another person has signed in since this was confirmed, so nothing was done.',
  },
  cross_origin: {
    status: 403,
    client_action: 'fix',
    title: 'This comes from another site',
    when: 'Portal and support only: a write that does not come from a page of this service, at its `PUBLIC_URL`.',
    detail: 'Only the pages of this service, opened at their own address, may do this.',
  },
  mailbox_proof_needed: {
    status: 403,
    client_action: 'fix',
    title: 'Sign in with a code by mail first',
    when: 'Portal only: self-release, export and erasure need a session that a mailed code began.',
    detail: 'Other people may know your license key. To do this, sign in with a code that we mail to you.',
  },
  release_needs_support: {
    status: 403,
    client_action: 'fix',
    title: 'Support has to release this machine',
    when: 'Portal only: within 365 days a license has `SELF_RELEASES_PER_YEAR` releases without support, and none is left.',
    detail: 'You cannot release this machine by yourself just now. Ask support to release it.',
  },
  code_invalid: {
    status: 403,
    client_action: 'fix',
    title: 'This code does not sign you in',
    when: 'Portal only: the code is wrong, was used, has ended, was asked for in another browser, or was tried 5 times.',
    detail: 'The code is wrong or no longer good, or another browser asked for it. Ask for a new one.',
  },
  link_invalid: {
    status: 403,
    client_action: 'fix',
    title: 'This link does not sign you in',
    when: 'Support only: the link is wrong, was used or has ended; or it was mailed, and a passkey exists by now.',
    detail: 'The link was used or is no longer good. Ask for a new one.',
  },
  passkey_invalid: {
    status: 403,
    client_action: 'fix',
    title: 'This passkey is not accepted',
    when: 'Support only: the passkey is unknown here, its answer is wrong, or it came too late.',
    detail: 'This passkey is not known here, or its answer came too late. Try again.',
  },
  key_not_mailable: {
    status: 409,
    client_action: 'fix',
    title: 'This license key cannot be mailed',
    when:
      'Support and portal only; `reason` is `not_made_here` (imported, or the key secret has changed), `refunded`, ' +
      '`revoked` or `erased`.',
    detail: ({ reason }) => NOT_MAILABLE_DETAILS[reason as keyof typeof NOT_MAILABLE_DETAILS],
  },
  license_changed: {
    status: 412,
    client_action: 'fix',
    title: 'The license was changed meanwhile',
    when: 'Support only: `if-match` names a `revision` of the license that is no longer the present one.',
    detail: 'This license was changed since you read it. Read it again before you change it.',
  },
  idempotency_key_reused: {
    status: 422,
    client_action: 'fix',
    title: 'A different license was issued with this idempotency key',
    when:
      'Support only: a license was issued with this `idempotency-key`, and it differs from the requested one: the request had ' +
      'other terms, or the license was changed or erased since; `license_id` names it.',
    detail:
      'A license was issued with this idempotency key, and it differs from this request. To issue one more, use another key.',
  },
  manifest_refused: {
    status: 422,
    client_action: 'fix',
    title: 'This manifest is not published',
    when: 'Support only: the manifest is not signed with a trusted key, or would harm clients or holders; `reason` says why in one sentence.',
    detail: ({ reason }) => String(reason),
  },
  crash_group_changed: {
    status: 412,
    client_action: 'fix',
    title: 'The state of the crash group was changed meanwhile',
    when: 'Support only: `if-match` names a `revision` of the crash group that is no longer the present one.',
    detail:
      'The state of this crash group was changed since you read it. Read it again before you change it.',
  },
  license_erased: {
    status: 409,
    client_action: 'fix',
    title: 'The holder of this license was erased',
    when: 'Support only: an erased license cannot be given to anyone.',
    detail: 'The holder of this license was erased. Issue a new one instead.',
  },
  has_passkey: {
    status: 409,
    client_action: 'fix',
    title: 'This person signs in with a passkey',
    when: 'Support only: a sign-in link is not mailed to a person who has a passkey.',
    detail:
      'A link is mailed only to a person without a passkey. For a person who lost it, the command line prints a link: mooring staff link.',
  },
  last_admin: {
    status: 409,
    client_action: 'fix',
    title: 'This is the last admin',
    when: 'Support only: the last admin can be neither removed nor given another role.',
    detail:
      'Without an admin the staff cannot be managed on the support page. Make another person an admin first.',
  },
  webhook_signature_invalid: {
    status: 403,
    client_action: 'fix',
    title: 'This purchase report is not signed as it should be',
    when: 'Purchases only: the signature is missing or wrong, or its timestamp differs from now by over 5 minutes.',
    detail:
      'The webhook-id, webhook-timestamp and webhook-signature headers must be a valid signature of this body with a current timestamp.',
  },
  too_many_requests: {
    status: 429,
    client_action: 'retry',
    title: 'Too many attempts',
    when:
      'Purchases, portal and support only: too many wrong webhook signatures, codes or passkeys, or too many requests ' +
      'for a code or a key by mail; carries `retry-after`.',
    detail: 'There were too many attempts of this kind. Please try again later.',
  },
  internal_error: {
    status: 500,
    client_action: 'retry',
    title: 'Something went wrong on our side',
    when: 'A fault of the service; the log has one line about it, with the same `request_id`.',
    detail: 'Something went wrong on our side. Please try again later.',
  },
  unavailable: {
    status: 503,
    client_action: 'retry',
    title: 'The service cannot answer just now',
    when:
      'The database is unavailable or contains no licenses at all, the time is uncertain, the request arrived too slowly, or the ' +
      'service is shutting down, overloaded or at its limit of mailed codes; carries `retry-after`.',
    detail: 'The service cannot answer just now. Please try again later.',
  },
} as const satisfies Record<string, Kind>;

export type ProblemCode = keyof typeof PROBLEMS;

/**
 * The refusal of a request. Services, pipes and guards throw it; `ProblemFilter` makes the response. It has no stack trace: its
 * code says enough, and a trace took a quarter of the processor time of a refusal under load.
 */
export class Problem extends Error {
  readonly status: number;

  constructor(
    readonly code: ProblemCode,
    readonly members: Members,
    readonly headers: Readonly<Record<string, string>>,
  ) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(code);
    Error.stackTraceLimit = stackTraceLimit;
    this.status = PROBLEMS[code].status;
  }
}

/**
 * Creates a problem of the catalogue. Dates among its additional members become RFC 3339. A 503 has a random `retry-after` of 5 to
 * 30 seconds, so that refused clients do not return at the same time.
 */
export function problem(
  code: ProblemCode,
  members: Members = {},
  headers: Record<string, string> = {},
): Problem {
  const retryAfter = { 'retry-after': String(5 + Math.floor(Math.random() * 26)) };
  const allHeaders = PROBLEMS[code].status === 503 ? { ...retryAfter, ...headers } : headers;
  return new Problem(code, timesAsText(members), allHeaders);
}

/** Creates the problem `invalid_request`. @param details a sentence for each invalid member, by its name */
export function invalidMembers(details: Readonly<Record<string, string>>): Problem {
  const errors = Object.entries(details).map(([member, detail]) => ({ pointer: `/${member}`, detail }));
  return problem('invalid_request', { errors });
}

/** Returns the sentence that explains a problem. */
export function problemDetail({ code, members }: Problem): string {
  const { detail }: Kind = PROBLEMS[code];
  return typeof detail === 'string' ? detail : detail(members);
}

/** Renders the body of an `application/problem+json` response (RFC 9457). */
export function problemDocument(error: Problem, publicUrl: string, requestId: string): string {
  const { code, members } = error;
  const { status, client_action, title }: Kind = PROBLEMS[code];
  return JSON.stringify({
    type: `${publicUrl}/docs/errors#${code}`,
    title,
    status,
    code,
    detail: problemDetail(error),
    client_action,
    ...members,
    request_id: requestId,
  });
}
