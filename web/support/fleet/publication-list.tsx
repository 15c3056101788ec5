import { messages } from '../messages.js';
import type { PublicationMark } from './publications.js';

interface Props {
  readonly marks: readonly PublicationMark[];
  readonly selected: PublicationMark | undefined;
  /** Receives undefined if the selected mark is pressed again. */
  readonly onSelect: (mark: PublicationMark | undefined) => void;
}

/** The marks of the chart as buttons. A button emphasises its mark, and selects the week whose shares are listed. */
export function PublicationList({ marks, selected, onSelect }: Props) {
  const { publications: texts } = messages.fleet;
  if (marks.length === 0) return null;
  const isSelected = (mark: PublicationMark) => mark.at === selected?.at && mark.label === selected.label;
  return (
    <div class="publications" role="group" aria-label={texts.list}>
      <span class="quiet small" aria-hidden="true">
        {texts.list}
      </span>
      {marks.map((mark) => (
        <button
          key={mark.publication.published_at}
          type="button"
          class="choice small"
          aria-pressed={isSelected(mark)}
          onClick={() => onSelect(isSelected(mark) ? undefined : mark)}
        >
          {mark.label}
        </button>
      ))}
    </div>
  );
}
