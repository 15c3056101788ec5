import type { ComponentChildren } from 'preact';
import { messages } from '../messages.js';
import { isPending, type RowState } from './row-states.js';

interface Props {
  readonly state: RowState | undefined;
  /** The buttons, which are not shown while a decision is pending. */
  readonly children: ComponentChildren;
}

/** The actions of a row: its buttons, or a tag while a decision is pending. After a failure, also the error. */
export function RowActions({ state, children }: Props) {
  return (
    <>
      <span class="row-actions">
        {isPending(state) ? <span class="tag warning">{messages.decided.pending[state]}</span> : children}
      </span>
      {typeof state === 'object' && <p class="error small">{state.error}</p>}
    </>
  );
}
