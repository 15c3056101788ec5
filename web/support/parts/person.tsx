import { Fragment } from 'preact';

/** An e-mail address in a table. A long one wraps after its `@` and its dots. */
export function Person({ email }: { email: string }) {
  return (
    <span class="person">
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
