import { Fragment, type ComponentChild, type ComponentChildren } from 'preact';

export { t } from '../../../src/languages/text.js';

/** Fills elements into a message: `fill('Release {machine}?', { machine: <UntrustedText … /> })`. */
export function fill(message: string, parts: Record<string, ComponentChild>): ComponentChildren {
  const pieces = message.split(/\{(\w+)\}/);
  return pieces.map((piece, index) => <Fragment key={index}>{index % 2 ? parts[piece] : piece}</Fragment>);
}

/**
 * Text from outside the service. It is never markup and cannot change the direction of the text around it. A browser does not
 * translate it, because people recognize their machines by the names that they gave them.
 */
export function UntrustedText({ text }: { text: string }) {
  return (
    <bdi class="untrusted" translate={false}>
      {text}
    </bdi>
  );
}
