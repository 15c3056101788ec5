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
