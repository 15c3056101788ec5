import { Fragment } from 'preact';

/** An e-mail address in a table. A long one wraps after its `@` and its dots. */
export function EmailAddress({ email }: { email: string }) {
  return (
    <span class="email-address">
      <bdi class="untrusted">
        {email.split(/(?<=[@.])/).map((part, index) => (
          <Fragment key={index}>
            {index > 0 && <wbr />}
            {part}
          </Fragment>
        ))}
      </bdi>
    </span>
  );
}
