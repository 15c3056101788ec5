import { messages } from '../messages.js';
import type { PublicationMark } from './publications.js';

interface Props {
  readonly marks: readonly PublicationMark[];
  /** The key of a mark. */
  readonly selected: string | undefined;
  /** Receives undefined if the selected mark is pressed again. */
  readonly onSelect: (key: string | undefined) => void;
}

/** The marks of the chart as buttons. A button emphasises its mark, and selects the week whose shares are listed. */
export function PublicationList({ marks, selected, onSelect }: Props) {
  const { publications: texts } = messages.fleet;
  if (marks.length === 0) return null;
  return (
    <div class="publications" role="group" aria-label={texts.list}>
      <span class="quiet small" aria-hidden="true">
        {texts.list}
      </span>
      {marks.map(({ key, label }) => (
        <button
          key={key}
          type="button"
          class="choice small"
          aria-pressed={key === selected}
          onClick={() => onSelect(key === selected ? undefined : key)}
        >
          {label}
        </button>
      ))}
    </div>
  );
}
