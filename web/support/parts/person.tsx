import { UntrustedText } from '../../shared/texts/text.js';

/** An e-mail address in a table; only a long one wraps. */
export function Person({ email }: { email: string }) {
  return (
    <span class="person">
      <UntrustedText text={email} />
    </span>
  );
}
