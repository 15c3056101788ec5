import { Invalid, type Field } from '../../core/field.js';
import { hostnameHintField } from '../../fields/hostname-hint.js';
import { Member } from '../../http/parsing/member.js';

/** A name is parsed like the label of a machine, and has the same limit. Null or a blank text removes it. */
const nameField: Field<string | null> = {
  parse: (input) =>
    input === undefined ? new Invalid('must be text or null') : hostnameHintField.parse(input),
};

/** Body of `PATCH /support/api/passkeys/{id}`. */
export class PasskeyRenameRequest {
  @Member(nameField)
  name!: string | null;
}

/**
 * The answer of an authenticator. WebAuthn allows an id of 1,023 bytes, which are 1,364 characters of base64url. The WebAuthn
 * library validates the other members.
 */
export interface PasskeyAnswer {
  readonly id: string;
  readonly response: Readonly<Record<string, unknown>>;
}

const passkeyAnswerField: Field<PasskeyAnswer> = {
  parse: (input) => {
    const { id, response } = (input ?? {}) as Partial<PasskeyAnswer>;
    const hasId = typeof id === 'string' && /^[\w-]{1,1400}$/.test(id);
    const isAnswer = hasId && typeof response === 'object' && response !== null;
    return isAnswer
      ? (input as PasskeyAnswer)
      : new Invalid('must be the answer of a passkey, with its id and response');
  },
};

/** Body of `POST /support/api/session` and `POST /support/api/passkeys`. */
export class PasskeyAnswerRequest {
  @Member(passkeyAnswerField, { mayBeObject: true })
  response!: PasskeyAnswer;
}
