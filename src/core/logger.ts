import { types } from 'node:util';
import { Injectable, LoggerService } from '@nestjs/common';
import { pino, type DestinationStream, type Logger } from 'pino';
import type { LogLevel } from './config.js';
import { BufferedOutput } from './buffered-output.js';

/** `at name (place:line:column)`: nothing that was not written by the engine. */
const FRAME = /^\s+at .*(:\d+:\d+\)?|<anonymous>\)?)$/gm;

type Destination = DestinationStream & Partial<Pick<BufferedOutput, 'flush' | 'written'>>;

/** What is told of an answer, and nothing else: to the log, and to whatever counts. */
export interface ResponseRecord {
  /** The route's template, never the address that was asked for. */
  readonly route: string;
  readonly method: string;
  readonly status: number;
  readonly milliseconds: number;
  readonly request_id: string;
}

type Fields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/**
 * Everything the service writes about itself: one JSON line an event, made of named fields alone. There is no way to
 * hand it an object of the caller's, and of an error it keeps only what cannot hold a person's data.
 */
@Injectable()
export class AppLogger implements LoggerService {
  readonly #pino: Logger;
  readonly #tellsAnswers: boolean;
  /** The latest answer's moment, and its text: made for each, it cost a twentieth of a manifest's answer. */
  #at = 0;
  #time = '';

  constructor(
    level: LogLevel,
    private readonly destination: Destination = new BufferedOutput(process.stdout.fd),
  ) {
    this.#pino = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
    this.#tellsAnswers = this.#pino.isLevelEnabled('info');
  }

  /**
   * The line of an answer. As `info` would write it, but by hand: there is one for each, and nothing in it can need an escape
   * (a template of ours, a method that Node's parser knows, numbers, a UUID).
   */
  answered({ route, method, status, milliseconds, request_id }: ResponseRecord): void {
    if (!this.#tellsAnswers) return;
    const now = Date.now();
    if (now !== this.#at) [this.#at, this.#time] = [now, new Date(now).toISOString()];
    const rounded = Math.round(milliseconds * 10) / 10;
    this.destination.write(
      `{"level":30,"time":"${this.#time}","route":"${route}","method":"${method}","status":${status},` +
        `"milliseconds":${rounded},"request_id":"${request_id}","msg":"request"}\n`,
    );
  }

  /** Resolves when everything is written, as far as somebody takes it. */
  async written(): Promise<void> {
    await this.destination.written?.();
  }

  info(event: string, fields: Fields = {}): void {
    this.#pino.info(fields, event);
  }

  /** Something needs an operator's eye; `error` is reduced as `failure` says, and its members yield to `fields`. */
  failed(event: string, error: unknown, fields: Fields = {}): void {
    this.#pino.error({ ...errorFields(error), ...fields }, event);
    this.destination.flush?.();
  }

  /** The process ends because of it: written at every level. `error` is reduced as `failure` says. */
  fatalError(event: string, error: unknown): void {
    this.#pino.fatal(errorFields(error), event);
    this.destination.flush?.();
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
    this.#pino.error({ context: String(rest.at(-1)), ...errorFields(message) }, 'framework error');
  }
}

/**
 * What may be told of an error: its class, its code (SQLSTATE or errno), the constraint it broke, and where in our
 * code it was thrown. Never its message: PostgreSQL puts a key's values there, JSON.parse a piece of the body.
 */
export function errorFields(error: unknown): Fields {
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
