import { Invalid, textField, type Field } from '../core/field.js';
import { Member } from '../http/parsing/member.js';

/** Body of `POST /support/api/session/link`. */
export class LinkRequest {
  @Member(
    textField('must be the 43 characters after #link= in the address', (text) =>
      /^[\w-]{43}$/.test(text) ? text : null,
    ),
  )
  link!: string;
}

/** The answer of an authenticator. The WebAuthn library validates its other members. */
export interface PasskeyAnswer {
  readonly id: string;
  readonly response: Readonly<Record<string, unknown>>;
}

/** Member `response` of `POST /support/api/session` and `POST /support/api/passkeys`. */
export const passkeyAnswerField: Field<PasskeyAnswer> = {
  parse: (input) => {
    const { id, response } = (input ?? {}) as Partial<PasskeyAnswer>;
    const hasId = typeof id === 'string' && /^[\w-]{1,1400}$/.test(id);
    const isAnswer = hasId && typeof response === 'object' && response !== null;
    return isAnswer
      ? (input as PasskeyAnswer)
      : new Invalid('must be the answer of a passkey, with its id and response');
  },
};
