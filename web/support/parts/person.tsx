import { UntrustedText } from '../../shared/text.js';

/** An e-mail in a table: with room enough that it breaks only where it is long. */
export function Person({ email }: { email: string }) {
  return (
    <span class="person">
      <UntrustedText text={email} />
    </span>
  );
}
