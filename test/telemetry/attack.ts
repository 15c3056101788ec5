/*
 * Strategies that link telemetry rows to activations, and rows of one machine to each other. They use everything that the
 * database shows of a row but its telemetry values: its position, its transaction id, its ids and times.
 */

/** What the database shows of a row, by name, as texts that sort like their values. */
export type Traces = Readonly<Record<string, string>>;

/** The activations and the telemetry rows, in the order of their positions. */
export interface Tables {
  readonly activations: readonly Traces[];
  readonly rows: readonly Traces[];
}

/** The result of a strategy: pairs of indexes, of an activation and a row, or of two rows. */
export interface Guess {
  readonly strategy: string;
  readonly pairs: readonly (readonly [number, number])[];
}

/**
 * A query for the traces of the rows of a table, without the columns in `$1`, which are telemetry values. `ctid`, the position of
 * a row, is a pair of numbers, which the cast to `point` separates.
 */
export const tracesOf = (table: string, where: string) => `
  select to_jsonb(t) - $1::text[] || jsonb_build_object(
           'xmin', lpad(t.xmin::text, 10, '0'),
           'ctid', lpad((t.ctid::text::point)[0]::text, 10, '0') || lpad((t.ctid::text::point)[1]::text, 10, '0')) as traces
  from ${table} t where ${where} order by t.tableoid, t.ctid`;

/** Converts numbers to texts that sort like numbers. */
export function sortableTraces(traces: Readonly<Record<string, unknown>>): Traces {
  const text = (value: unknown) =>
    typeof value === 'number' ? String(value).padStart(20, '0') : String(value);
  return Object.fromEntries(Object.entries(traces).map(([name, value]) => [name, text(value)]));
}

/** Guesses for each activation a row of its machine, in four ways for each pair of a trace of activations and a trace of rows. */
export function linkActivationsToRows({ activations, rows }: Tables): Guess[] {
  const rowsPerActivation = rows.length / activations.length;
  return traceNames(activations).flatMap((activationTrace) =>
    traceNames(rows).flatMap((rowTrace) => {
      const sortedActivations = sorted(activations, activationTrace);
      const sortedRows = sorted(rows, rowTrace);
      const guess = (strategy: string, rowFor: (activation: number, rank: number) => number): Guess => ({
        strategy: `${strategy}, activations by ${activationTrace}, rows by ${rowTrace}`,
        pairs: sortedActivations.map((activation, rank) => [activation, rowFor(activation, rank)] as const),
      });
      const firstNotBefore = (activation: number) =>
        sortedRows.find((row) => rows[row]![rowTrace]! >= activations[activation]![activationTrace]!) ??
        sortedRows.at(-1)!;
      return [
        guess('the i-th row', (_activation, rank) => sortedRows[rank]!),
        guess('the i-th of the last rows', (_activation, rank) => sortedRows.at(rank - activations.length)!),
        guess(
          'the first row of the i-th group',
          (_activation, rank) => sortedRows[rank * rowsPerActivation]!,
        ),
        guess('the first row that is not before it', firstNotBefore),
      ];
    }),
  );
}

/** Guesses pairs of rows of one machine: neighbours, and rows whose distance is the number of machines. */
export function linkRowsOfOneMachine({ activations, rows }: Tables): Guess[] {
  return traceNames(rows).flatMap((trace) => {
    const order = sorted(rows, trace);
    return [1, activations.length].map((distance) => ({
      strategy: `${distance} apart, by ${trace}`,
      pairs: order.slice(distance).map((row, rank) => [order[rank]!, row] as const),
    }));
  });
}

/** The rows in each order that may be the order of their arrival. */
export function arrivalOrders({
  rows,
}: Tables): { readonly strategy: string; readonly order: readonly number[] }[] {
  return traceNames(rows).map((trace) => ({ strategy: `by ${trace}`, order: sorted(rows, trace) }));
}

const traceNames = (rows: readonly Traces[]) => Object.keys(rows[0]!);

// The sort is stable: rows with equal traces stay in the order of their positions.
function sorted(rows: readonly Traces[], trace: string): number[] {
  const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  return [...rows.keys()].toSorted((a, b) => compare(rows[a]![trace]!, rows[b]![trace]!));
}
