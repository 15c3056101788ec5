import { checkedMembers, type ProblemCode, type ProblemExtras } from './problem-members.js';

export type { ProblemCode, ProblemExtras } from './problem-members.js';

/** What a problem asks the client to do (docs/contract.md#errors). */
export type ClientAction = 'retry' | 'fix' | 'reactivate' | 'stop';

/** An invalid member of a request: its JSON pointer, and what is wrong with it. */
export interface FieldError {
  pointer: string;
  detail: string;
}

/** The content of a problem. */
export interface ProblemFacts {
  status: number;
  /** One of `ProblemCode`, or a code of a newer service. */
  code: string;
  client_action: ClientAction;
  /** The text to show to the user. */
  detail: string;
  errors: FieldError[];
  /** The members that depend on the code: `portal_url`, `newest_covered_version`, … */
  extras: Readonly<Record<string, unknown>>;
  /** The least time to wait before the request is repeated, from the `retry-after` of the response. */
  retry_after_seconds?: number | undefined;
}

/** A refusal of the service, or of `readLicenseKey`, which makes the same problem without a request. */
export class LicenseProblem extends Error implements ProblemFacts {
  readonly status: number;
  readonly code: string;
  readonly client_action: ClientAction;
  readonly detail: string;
  readonly errors: FieldError[];
  readonly extras: Readonly<Record<string, unknown>>;
  readonly retry_after_seconds: number | undefined;

  constructor(facts: ProblemFacts) {
    super(`${facts.code}: ${facts.detail}`);
    this.name = 'LicenseProblem';
    this.status = facts.status;
    this.code = facts.code;
    this.client_action = facts.client_action;
    this.detail = facts.detail;
    this.errors = facts.errors;
    this.extras = checkedMembers(facts.code, facts.extras);
    this.retry_after_seconds = facts.retry_after_seconds;
  }

  /** Whether the problem has this code; narrows the types of `extras`. */
  is<Code extends ProblemCode>(
    code: Code,
  ): this is LicenseProblem & { readonly code: Code; readonly extras: ProblemExtras<Code> } {
    return this.code === code;
  }
}

/** No valid response was received: no network, a captive portal, an incomplete response, a broken proxy. */
export class ServiceUnreachable extends Error {
  readonly reason: string;
  /** The least time to wait before the request is repeated, if a proxy answered 429 or 503 with a `retry-after`. */
  readonly retry_after_seconds: number | undefined;

  constructor(reason: string, retry_after_seconds?: number) {
    super(`the licensing service could not be reached (${reason})`);
    this.name = 'ServiceUnreachable';
    this.reason = reason;
    this.retry_after_seconds = retry_after_seconds;
  }
}
