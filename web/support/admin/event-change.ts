import { formatUtcDay } from '../../shared/dates.js';
import type { AuditEvent } from '../../shared/api-types.js';
import { messages } from '../messages.js';

/** The names of members that are ids. An id that has no label is not shown. */
const ID_MEMBER = /(^|_)id$/;

/** Describes what an entry changed: `machines: 1 → 3`. @param labels the labels of ids */
export function changeText({ change }: AuditEvent, labels: ReadonlyMap<string, string>): string {
  const texts = messages.history;
  const { before = {}, ...values } = change as Readonly<Record<string, unknown>> & { before?: object };
  const previous = new Map(Object.entries(before));
  return Object.entries(values)
    .filter(([name, value]) => !ID_MEMBER.test(name) || labels.has(String(value)))
    .map(([name, value]) => {
      const now = valueText(name, value, labels);
      const was = previous.has(name) ? `${valueText(name, previous.get(name), labels)} → ` : '';
      return `${texts.changes[name] ?? name}: ${was}${now}`;
    })
    .join(', ');
}

function valueText(name: string, value: unknown, labels: ReadonlyMap<string, string>): string {
  const texts = messages.history;
  if (value === null) return name === 'expires_at' ? texts.never : messages.none;
  if (typeof value === 'boolean') return value ? texts.yes : texts.no;
  if (typeof value === 'object') return JSON.stringify(value);
  const text = String(value);
  if (name === 'expires_at' && !Number.isNaN(Date.parse(text))) return formatUtcDay(text);
  return labels.get(text) ?? text;
}
