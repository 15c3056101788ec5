import { types } from 'node:util';
import { Injectable, LoggerService } from '@nestjs/common';
import { pino, type DestinationStream, type Logger } from 'pino';
import type { LogLevel } from '../config.js';

/** `at name (place:line:column)`: nothing that was not written by the engine. */
const FRAME = /^\s+at .*(:\d+:\d+\)?|<anonymous>\)?)$/gm;

/** A line waits for others this long at most, or until they are so many bytes; one that tells of a failure does not. */
const GATHER_MS = 100;
const GATHER_BYTES = 4_096;
/** What waits while nobody takes it; past it lines are dropped, since a log that nobody reads must stop no answer. */
const WAITING_BYTES = 4 * 1024 * 1024;

type Fields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/**
 * Everything the service writes about itself: one JSON line an event, made of named fields alone. There is no way to
 * hand it an object of the caller's, and of an error it keeps only what cannot hold a person's data.
 */
@Injectable()
export class Log implements LoggerService {
  readonly #pino: Logger;
  readonly #flush: () => void;

  constructor(level: LogLevel, destination: DestinationStream & { flush?: () => void } = standardOutput()) {
    // Not pino's: it would wait for each to be over.
    this.#flush = () => destination.flush?.();
    this.#pino = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
  }

  info(event: string, fields: Fields = {}): void {
    this.#pino.info(fields, event);
  }

  /** Something needs an operator's eye; `error` is reduced as `failure` says. */
  failed(event: string, error: unknown, fields: Fields = {}): void {
    this.#pino.error({ ...fields, ...failure(error) }, event);
    this.#flush();
  }

  warning(event: string, fields: Fields = {}): void {
    this.#pino.warn(fields, event);
  }

  // Nest's own messages name classes and routes, and on a failure whatever the thrown thing said: so a message is
  // kept only below `warn`, where Nest speaks of its modules, and of anything above it the context alone.
  log(message: unknown, context?: unknown): void {
    this.#pino.debug({ context: String(context) }, String(message));
  }

  warn(_message: unknown, ...rest: unknown[]): void {
    this.#pino.warn({ context: String(rest.at(-1)) }, 'framework warning');
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.#pino.error({ context: String(rest.at(-1)), ...failure(message) }, 'framework error');
  }
}

/**
 * Gathered, since a write of its own for each line cost a fifth of a quick answer (decision 0017). What is left is written at
 * the end of the process.
 */
function standardOutput(): DestinationStream {
  const stream = pino.destination({
    sync: false,
    minLength: GATHER_BYTES,
    periodicFlush: GATHER_MS,
    maxLength: WAITING_BYTES,
  });
  // What could not be written (a full disk) is tried again with what comes next; at the end it would be tried for ever.
  let isTaken = true;
  stream.on('error', () => (isTaken = false)).on('write', () => (isTaken = true));
  process.prependOnceListener('exit', () => isTaken || stream.destroy());
  return stream;
}

/**
 * What may be told of an error: its class, its code (SQLSTATE or errno), the constraint it broke, and where in our
 * code it was thrown. Never its message: PostgreSQL puts a key's values there, JSON.parse a piece of the body.
 */
export function failure(error: unknown): Fields {
  if (!types.isNativeError(error)) return { error: typeof error };
  const { code, constraint, table } = ((error as { driverError?: unknown }).driverError ?? error) as {
    code?: unknown;
    constraint?: unknown;
    table?: unknown;
  };
  // The stack begins with the message, which may itself look like a frame.
  const stack = error.stack ?? '';
  const frames = stack.slice(stack.indexOf(error.message) + error.message.length).match(FRAME) ?? [];
  return {
    error: error.constructor.name,
    code: code === undefined ? undefined : String(code),
    constraint: typeof constraint === 'string' ? constraint : undefined,
    table: typeof table === 'string' ? table : undefined,
    at: frames
      .slice(0, 8)
      .map((line) => line.trim().slice(3))
      .join(' < '),
  };
}
