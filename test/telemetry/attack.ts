/*
 * Links telemetry rows to activations, and rows of one machine to each other, by all that a database tells of a row but
 * what the row itself says: its place, its transaction, its ids, its times.
 */

/** What is known of a row, by name; each as a text that sorts as its value. */
export type Traces = Readonly<Record<string, string>>;

/** Both sides as they lie there: in the order of their places. */
export interface Scene {
  readonly activations: readonly Traces[];
  readonly rows: readonly Traces[];
}

/** What a strategy says: pairs of indexes, that of an activation and that of a row, or those of two rows. */
export interface Guess {
  readonly how: string;
  readonly pairs: readonly (readonly [number, number])[];
}

/** A query for the traces of a table's rows; `$1` names the columns that are what a row says. */
export const tracesOf = (table: string, where: string) => `
  select to_jsonb(t) - $1::text[] || jsonb_build_object(
           'xmin', lpad(t.xmin::text, 10, '0'),
           'ctid', lpad((t.ctid::text::point)[0]::text, 10, '0') || lpad((t.ctid::text::point)[1]::text, 10, '0')) as traces
  from ${table} t where ${where} order by t.tableoid, t.ctid`;

/** Numbers as texts that sort; what is null tells nothing. */
export function readable(traces: Readonly<Record<string, unknown>>): Traces {
  const text = (value: unknown) =>
    typeof value === 'number' ? String(value).padStart(20, '0') : String(value);
  return Object.fromEntries(Object.entries(traces).map(([name, value]) => [name, text(value)]));
}

/** Names a row of each activation's machine, by every trace of the one and every trace of the other. */
export function linkRows({ activations, rows }: Scene): Guess[] {
  const each = rows.length / activations.length;
  return names(activations).flatMap((by) =>
    names(rows).flatMap((of) => {
      const sortedActivations = sorted(activations, by);
      const sortedRows = sorted(rows, of);
      const guess = (how: string, rowFor: (activation: number, rank: number) => number): Guess => ({
        how: `${how}, activations by ${by}, rows by ${of}`,
        pairs: sortedActivations.map((activation, rank) => [activation, rowFor(activation, rank)] as const),
      });
      const firstAfter = (activation: number) =>
        sortedRows.find((row) => rows[row]![of]! >= activations[activation]![by]!) ?? sortedRows.at(-1)!;
      return [
        guess('the i-th of each', (_activation, rank) => sortedRows[rank]!),
        guess('the i-th of the last', (_activation, rank) => sortedRows.at(rank - activations.length)!),
        guess('the i-th group', (_activation, rank) => sortedRows[rank * each]!),
        guess('the first from there on', firstAfter),
      ];
    }),
  );
}

/** Names rows of one machine: neighbours, and those that lie as far apart as there are machines. */
export function linkMachines({ activations, rows }: Scene): Guess[] {
  return names(rows).flatMap((of) => {
    const order = sorted(rows, of);
    return [1, activations.length].map((step) => ({
      how: `${step} apart, by ${of}`,
      pairs: order.slice(step).map((row, rank) => [order[rank]!, row] as const),
    }));
  });
}

/** The rows, in each of the orders that could be that of their arrival. */
export function orders({ rows }: Scene): { readonly how: string; readonly order: readonly number[] }[] {
  return names(rows).map((of) => ({ how: `by ${of}`, order: sorted(rows, of) }));
}

const names = (all: readonly Traces[]) => Object.keys(all[0]!);

// Stable: what this trace leaves open, the place decides.
function sorted(all: readonly Traces[], by: string): number[] {
  const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  return [...all.keys()].toSorted((a, b) => compare(all[a]![by]!, all[b]![by]!));
}
