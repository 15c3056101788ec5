import { Notice } from '../../shared/notices/notice.js';
import { problemText } from '../parts/problem-text.js';
import { PasskeyFailed } from './passkey.js';

interface Props {
  readonly error: unknown;
  readonly texts: Readonly<Partial<Record<PasskeyFailed['reason'], string>>> & { readonly failed: string };
}

/** Shows why a sign-in failed, or why a passkey could not be made. If the person cancelled, that is only a warning. */
export function Failure({ error, texts }: Props) {
  if (error === undefined) return null;
  if (!(error instanceof PasskeyFailed)) return <Notice kind="danger">{problemText(error)}</Notice>;
  const text = texts[error.reason] ?? texts.failed;
  if (error.reason !== 'cancelled') return <Notice kind="danger">{text}</Notice>;
  // A Notice of the kind `warning` is not announced by screen readers, so its text gets the role `alert`.
  return (
    <Notice kind="warning">
      <p role="alert">{text}</p>
    </Notice>
  );
}
