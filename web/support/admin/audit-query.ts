/** The filters of the audit trail. An empty one selects everything. Days are those of the reader's time zone. */
interface AuditFilter {
  readonly actor_id: string;
  readonly action: string;
  /** The first day, `2026-11-20`. */
  readonly from: string;
  /** The last day. */
  readonly to: string;
}

/** Reads the filters from the part of the URL after `#audit/`. A text that is not a day counts as no filter. */
export function readFilter(query: string): AuditFilter {
  const values = new URLSearchParams(query);
  const read = (name: keyof AuditFilter) => values.get(name) ?? '';
  const readDay = (name: 'from' | 'to') => (isDay(read(name)) ? read(name) : '');
  return { actor_id: read('actor_id'), action: read('action'), from: readDay('from'), to: readDay('to') };
}

/** Writes the filters into the part of the URL after `#audit/`, and the cursor of a page of older events. */
export function toQuery(filter: AuditFilter, cursor = ''): string {
  return withoutEmpty({ ...filter, cursor });
}

/** Whether the URL names a page of older events. */
export const isOlderPage = (query: string) => new URLSearchParams(query).has('cursor');

/** The parameters of the API. It receives times instead of days, because it does not know the time zone of the reader. */
export function toParameters(query: string): string {
  const { from, to, ...filter } = readFilter(query);
  const cursor = new URLSearchParams(query).get('cursor') ?? '';
  return withoutEmpty({ ...filter, from: startOfDay(from), to: startOfDay(to, 1), cursor });
}

/** Whether a text is a day from 1970 on in the format of `<input type="date">`, such as 2026-11-20. */
export function isDay(text: string): boolean {
  const time = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : NaN;
  return time >= 0 && new Date(time).toISOString().startsWith(text);
}

/**
 * The start of a day, or of one `later` days after it, in the time zone of the reader. It is empty without a day, and outside the
 * years from 1970 to 9999 in UTC, in which all events are.
 */
function startOfDay(day: string, later = 0): string {
  if (day === '') return '';
  const [year, month, date] = day.split('-').map(Number) as [number, number, number];
  // A day on which summer time begins may start at one o'clock. `setDate` would keep that hour for the later day.
  const start = new Date(year, month - 1, date + later);
  const utcYear = start.getUTCFullYear();
  return utcYear < 1970 || utcYear > 9999 ? '' : start.toISOString();
}

const withoutEmpty = (values: Readonly<Record<string, string>>) =>
  new URLSearchParams(Object.entries(values).filter(([, value]) => value !== '')).toString();
