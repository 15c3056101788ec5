import { utcDay } from '../../shared/dates.js';
import type { AuditEvent } from '../../shared/api-types.js';
import { messages } from '../messages.js';

/** Names of ids, which are left out if they have no label. */
const IDS = /(^|_)id$/;

/** What an entry changed, such as `machines: 1 → 3`. @param names the labels of ids */
export function changeText({ change }: AuditEvent, names: ReadonlyMap<string, string>): string {
  const texts = messages.history;
  const { before = {}, ...values } = change as Readonly<Record<string, unknown>> & { before?: object };
  const previous = new Map(Object.entries(before));
  return Object.entries(values)
    .filter(([name, value]) => !IDS.test(name) || names.has(String(value)))
    .map(([name, value]) => {
      const now = valueText(name, value, names);
      const was = previous.has(name) ? `${valueText(name, previous.get(name), names)} → ` : '';
      return `${texts.changes[name] ?? name}: ${was}${now}`;
    })
    .join(', ');
}

function valueText(name: string, value: unknown, names: ReadonlyMap<string, string>): string {
  const texts = messages.history;
  if (value === null) return name === 'expires_at' ? texts.never : messages.none;
  if (typeof value === 'boolean') return value ? texts.yes : texts.no;
  if (typeof value === 'object') return JSON.stringify(value);
  const text = String(value);
  if (name === 'expires_at' && !Number.isNaN(Date.parse(text))) return utcDay(text);
  return names.get(text) ?? text;
}
