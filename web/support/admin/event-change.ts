import { utcDay } from '../../shared/dates.js';
import type { AuditEvent } from '../../shared/api-types.js';
import { messages } from '../messages.js';

/** Nothing to read in them but where to look. */
const IDS = /(^|_)id$/;

/** What an entry changed, as `name: value` pairs in messages. `names`: what is known of ids. */
export function changeText({ change }: AuditEvent, names: ReadonlyMap<string, string>): string {
  const texts = messages.history;
  return Object.entries(change as Readonly<Record<string, unknown>>)
    .filter(([name, value]) => !IDS.test(name) || names.has(String(value)))
    .map(([name, value]) => `${texts.changes[name] ?? name}: ${valueText(name, value, names)}`)
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
