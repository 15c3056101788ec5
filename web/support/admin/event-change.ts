import { formatUtcDay } from '../../shared/dates/dates.js';
import { lastDay } from '../../shared/dates/expiry.js';
import { t } from '../../shared/texts/text.js';
import type { AuditEvent } from '../../../src/http/responses/api-types.js';
import { messages } from '../messages.js';

type Values = Readonly<Record<string, unknown>>;

const { history: texts } = messages;

/** The names of members that are not shown as changes: all ids, and the decision, which the sentence of the event expresses. */
const MEMBER_OF_SENTENCE = /(^|_)id$|^decision$/;

/** Describes what an event changed: `machines: 1 → 3`. */
export function changeText({ change }: AuditEvent): string {
  const { before = {}, ...after } = change as Values & { before?: Values };
  // What the application does after the expiry has no meaning for a new license that never expires.
  const isMeaningless = (name: string) =>
    name === 'on_expiry' && !(name in before) && after.expires_at === null;
  const isStillNull = (name: string) => before[name] === null && (after[name] ?? null) === null;
  return Object.keys({ ...before, ...after })
    .filter((name) => !MEMBER_OF_SENTENCE.test(name) && !isMeaningless(name) && !isStillNull(name))
    .map((name) => `${texts.changes[name] ?? name}: ${differenceText(name, before, after)}`)
    .join(', ');
}

function differenceText(name: string, before: Values, after: Values): string {
  const value = (values: Values) => valueText(name, values[name]);
  if (!(name in after)) return t(texts.ended, { value: value(before) });
  if (!(name in before)) return value(after);
  // An event may have a value that it did not change, such as the state of a crash group that is resolved in another version.
  if (value(before) === value(after)) return t(texts.unchanged, { value: value(after) });
  return `${value(before)} → ${value(after)}`;
}

function valueText(name: string, value: unknown): string {
  if (value === null) return name === 'expires_at' ? texts.never : messages.none;
  if (typeof value === 'boolean') return value ? texts.yes : texts.no;
  if (typeof value === 'object') return JSON.stringify(value);
  const text = String(value);
  if (name === 'expires_at' && !Number.isNaN(Date.parse(text))) return formatUtcDay(lastDay(text));
  return texts.values[name]?.[text] ?? text;
}
