import { types } from 'node:util';
import type { LoggerService } from '@nestjs/common';
import { pino, type DestinationStream, type Logger } from 'pino';
import { ConfigError } from './config-error.js';
import type { LogLevel } from './config.js';
import type { BufferedOutput } from './buffered-output.js';
import { driverErrorOf } from './driver-error.js';
import { logOutput } from './journal.js';
import { sourceFrame } from './source-frames.js';

/** Matches the lines of a stack trace that are frames: `at name (place:line:column)`. */
const STACK_FRAMES = /^\s+at .*(:\d+:\d+\)?|<anonymous>\)?)$/gm;

type Destination = DestinationStream & Partial<Pick<BufferedOutput, 'flush' | 'waitUntilWritten'>>;

/** The only facts about a response that are logged. All but `request_id` are also counted, and so is the code of a problem. */
export interface ResponseRecord {
  /** The template of the route, never the requested URL. */
  readonly route: string;
  readonly method: string;
  readonly status: number;
  readonly milliseconds: number;
  readonly request_id: string;
}

type Fields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/**
 * Writes the log: one JSON line for each event, with named fields only. It accepts no objects of a request, and logs only those
 * parts of an error that cannot contain personal data (docs/privacy.md#logs).
 */
export class AppLogger implements LoggerService {
  readonly #pino: Logger;
  readonly #logsResponses: boolean;
  readonly #logsProbes: boolean;
  /**
   * The time of the last line of `logResponse`, as milliseconds and as text. Formatting the time for each response took 5% of the
   * time of a manifest request.
   */
  #lastTime = 0;
  #lastTimeText = '';

  constructor(
    level: LogLevel,
    private readonly destination: Destination = logOutput(process.stdout.fd),
  ) {
    this.#pino = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
    this.#logsResponses = this.#pino.isLevelEnabled('info');
    this.#logsProbes = this.#pino.isLevelEnabled('debug');
  }

  /**
   * Writes the line of a response in the format of `info`, or of `debug` for a probe, which arrives every few seconds. Each request
   * writes such a line, so pino is not used, to save time. No value needs an escape: a route template, a method that Node's parser
   * knows, numbers and a UUID.
   */
  logResponse({ route, method, status, milliseconds, request_id }: ResponseRecord): void {
    const isProbe = route.startsWith('/health/');
    if (!(isProbe ? this.#logsProbes : this.#logsResponses)) return;
    const now = Date.now();
    if (now !== this.#lastTime) [this.#lastTime, this.#lastTimeText] = [now, new Date(now).toISOString()];
    const rounded = Math.round(milliseconds * 10) / 10;
    this.destination.write(
      `{"level":${isProbe ? 20 : 30},"time":"${this.#lastTimeText}","route":"${route}","method":"${method}","status":${status},` +
        `"milliseconds":${rounded},"request_id":"${request_id}","msg":"request"}\n`,
    );
  }

  /** Resolves when all lines are written, or after half a second if the reader of the log is too slow. */
  async waitUntilWritten(): Promise<void> {
    await this.destination.waitUntilWritten?.();
  }

  /** Logs an event. @param event a constant text, the `msg` of the line */
  info(event: string, fields: Fields = {}): void {
    this.#pino.info(fields, event);
  }

  /** Logs an error that needs the attention of an operator, with its `errorFields`; `fields` take precedence. */
  failed(event: string, error: unknown, fields: Fields = {}): void {
    this.#pino.error({ ...errorFields(error), ...fields }, event);
    this.destination.flush?.();
  }

  /** Logs an error that ends the process, with its `errorFields`, whatever LOG_LEVEL is. */
  fatalError(event: string, error: unknown): void {
    this.#pino.fatal(errorFields(error), event);
    this.destination.flush?.();
  }

  /** Logs an event at the level `warn`. */
  warning(event: string, fields: Fields = {}): void {
    this.#pino.warn(fields, event);
  }

  // Nest calls these three methods. Its messages to `log` are about modules and routes. Its other messages, and the stack that it
  // passes instead of a context, may contain the message of an error, so they are not logged.
  log(message: unknown, context?: unknown): void {
    this.#pino.debug({ context: String(context) }, String(message));
  }

  warn(_message: unknown, ...rest: unknown[]): void {
    this.#pino.warn({ context: contextOf(rest) }, 'framework warning');
  }

  error(message: unknown, ...rest: unknown[]): void {
    // Two errors of the start are not logged, because the program prints a sentence about each: a wrong setting, for which Nest
    // passes a ConfigError, and a port that cannot be used, for which it passes a text.
    if (message instanceof ConfigError || (typeof message === 'string' && rest.at(-1) === 'NestApplication'))
      return;
    this.#pino.error({ context: contextOf(rest), ...errorFields(message) }, 'framework error');
  }
}

/** The class of Nest that logs, which it passes last; undefined if there is none. */
function contextOf(rest: readonly unknown[]): string | undefined {
  const last = rest.at(-1);
  return typeof last === 'string' && /^\w+$/.test(last) ? last : undefined;
}

/**
 * The parts of an error that may be logged: its class, its code (SQLSTATE or errno), the violated constraint, the table, and
 * the stack frames. The message is never logged: PostgreSQL includes values of a key, and JSON.parse a part of the body.
 */
export function errorFields(error: unknown): Fields {
  if (!types.isNativeError(error)) return { error: typeof error };
  const { code, constraint, table } = driverErrorOf(error);
  const frames = framesOf(error);
  return {
    error: error.constructor.name,
    code: code === undefined ? undefined : String(code),
    constraint: typeof constraint === 'string' ? constraint : undefined,
    table: typeof table === 'string' ? table : undefined,
    at: frames
      .slice(0, 8)
      .map((line) => sourceFrame(line.trim().slice(3)))
      .join(' < '),
  };
}

/**
 * Returns the lines of the stack that are frames. Only the text after the message is searched, because a line of the message may
 * look like a frame. A stack that does not contain the message gives no frames.
 */
function framesOf({ stack = '', message }: Error): string[] {
  const start = stack.indexOf(message);
  return start < 0 ? [] : (stack.slice(start + message.length).match(STACK_FRAMES) ?? []);
}
