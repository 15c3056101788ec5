import { types } from 'node:util';
import { errorFields, type AppLogger } from './logger.js';

/** Equal output is logged at most this often. */
const REPEAT_INTERVAL_MS = 60_000;
/** The number of different outputs that are remembered. */
const MAX_REMEMBERED = 100;

/**
 * Logs what a library prints. The text is not logged, because it may contain personal data: a line has the source, and the fields
 * of the printed error or, without an error, the stack frames of the call. While the database is unavailable, a library may print
 * the same hundreds of times. Equal output is therefore logged once a minute, with the number of times that it was left out before.
 */
export class LibraryOutput {
  readonly #remembered = new Map<string, { readonly loggedAt: number; leftOut: number }>();

  constructor(
    private readonly log: Pick<AppLogger, 'warning'>,
    private readonly monotonic: () => number = () => performance.now(),
  ) {}

  /** Logs an output. @param source what printed, a constant @param values what was printed */
  write(source: string, values: readonly unknown[]): void {
    const fields = errorFields(values.find(types.isNativeError) ?? new Error());
    const key = `${source} ${fields['error']} ${fields['code']} ${fields['at']}`;
    const now = this.monotonic();
    const last = this.#remembered.get(key);
    if (last && now - last.loggedAt < REPEAT_INTERVAL_MS) {
      last.leftOut += 1;
      return;
    }
    if (!last && this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear();
    this.#remembered.set(key, { loggedAt: now, leftOut: 0 });
    this.log.warning('library output', { ...fields, source, left_out: last?.leftOut || undefined });
  }

  /** Logs what is printed with a console from now on, such as the global `console`. */
  capture(target: Pick<Console, (typeof METHODS)[number]>): void {
    for (const method of METHODS)
      target[method] = (...values: unknown[]) => this.write(`console.${method}`, values);
  }
}

/** The methods of a console that `capture` replaces. */
const METHODS = ['debug', 'error', 'info', 'log', 'trace', 'warn'] as const;
