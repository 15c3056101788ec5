import { UntrustedText } from '../../shared/texts/text.js';

interface Props {
  /** A telemetry value, or another label of a row, such as the name of a crash group. */
  readonly label: string;
  /** The name of the value, if this page knows one. */
  readonly name?: string | undefined;
}

/** A telemetry value, beside its name if it has one. */
export function ValueLabel({ label, name }: Props) {
  if (name === undefined) return <UntrustedText text={label} />;
  return (
    <>
      {name}{' '}
      <span class="quiet mono small">
        <UntrustedText text={label} />
      </span>
    </>
  );
}
