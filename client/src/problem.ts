import { checkedMembers, type ProblemCode, type ProblemExtras } from './problem-members.js';

export type { ProblemCode, ProblemExtras } from './problem-members.js';

/** What the application is asked to do about a problem (docs/contract.md#errors). */
export type ClientAction = 'retry' | 'fix' | 'reactivate' | 'stop';

export interface FieldError {
  pointer: string;
  detail: string;
}

export interface ProblemFacts {
  status: number;
  /** One of `ProblemCode`, or what a newer service has added to them. */
  code: string;
  client_action: ClientAction;
  /** The one member that is prose: show it to the user. */
  detail: string;
  errors: FieldError[];
  /** The members a code brings along: `portal_url`, `newest_covered_version`, … */
  extras: Readonly<Record<string, unknown>>;
}

/** The service answered, and the answer was a refusal. */
export class LicenseProblem extends Error implements ProblemFacts {
  readonly status: number;
  readonly code: string;
  readonly client_action: ClientAction;
  readonly detail: string;
  readonly errors: FieldError[];
  readonly extras: Readonly<Record<string, unknown>>;

  constructor(facts: ProblemFacts) {
    super(`${facts.code}: ${facts.detail}`);
    this.name = 'LicenseProblem';
    this.status = facts.status;
    this.code = facts.code;
    this.client_action = facts.client_action;
    this.detail = facts.detail;
    this.errors = facts.errors;
    this.extras = checkedMembers(facts.code, facts.extras);
  }

  /** Whether this is that problem, whose `extras` then have their types. */
  is<Code extends ProblemCode>(
    code: Code,
  ): this is LicenseProblem & { readonly code: Code; readonly extras: ProblemExtras<Code> } {
    return this.code === code;
  }
}

/** No answer came that could be believed: no network, a captive portal, a cut answer, a broken proxy. */
export class ServiceUnreachable extends Error {
  constructor(readonly reason: string) {
    super(`the licensing service could not be reached (${reason})`);
    this.name = 'ServiceUnreachable';
  }
}
