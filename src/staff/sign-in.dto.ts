import { textRule } from '../activation/activation.dto.js';
import { Member } from '../http/parsing/members.pipe.js';

/** Body of `POST /support/api/session/link`. */
export class LinkRequest {
  @Member(
    textRule((value) => /^[\w-]{43}$/.test(value), 'must be the 43 characters behind #link= of the address'),
  )
  link!: string;
}

/** The answer of an authenticator. The WebAuthn library validates its other members. */
export interface PasskeyAnswer {
  readonly id: string;
  readonly response: Readonly<Record<string, unknown>>;
}

/** Body of `POST /support/api/session` and `POST /support/api/passkeys`. */
export class PasskeyAnswerRequest {
  @Member(answerRule)
  response!: PasskeyAnswer;
}

function answerRule(value: unknown): string | undefined {
  const { id, response } = (value ?? {}) as Partial<PasskeyAnswer>;
  const hasId = typeof id === 'string' && /^[\w-]{1,1400}$/.test(id);
  const isAnswer = hasId && typeof response === 'object' && response !== null;
  return isAnswer ? undefined : 'must be the answer of a passkey, with its id and response';
}
