import { Fragment, type ComponentChild, type ComponentChildren } from 'preact';

/** Puts elements into a sentence of the catalogue: `fill('Release {machine}?', { machine: <Stranger … /> })`. */
export function fill(sentence: string, parts: Record<string, ComponentChild>): ComponentChildren {
  const pieces = sentence.split(/\{(\w+)\}/);
  return pieces.map((piece, index) => <Fragment key={index}>{index % 2 ? parts[piece] : piece}</Fragment>);
}

/** A stranger's text: never markup, and never able to turn the direction of what stands around it. */
export function Stranger({ text }: { text: string }) {
  return <bdi class="stranger">{text}</bdi>;
}
