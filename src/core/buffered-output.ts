import { write, writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** The longest time for which lines are collected before they are written. */
const COLLECT_MS = 100;
/** The number of characters from which on the collected lines are written at once. */
const COLLECT_CHARACTERS = 32_768;
/** With more unwritten characters than this, further lines are dropped: a log without a reader must not stop the service. */
const MAX_UNWRITTEN_CHARACTERS = 4 * 1024 * 1024;
/** The time that the shutdown waits until the lines are written. */
const SHUTDOWN_TIMEOUT_MS = 500;

/**
 * Writes lines to a file descriptor. The lines of 100 ms are written together, outside the event loop, because one write for each
 * line took a large part of the time of a fast response (docs/decisions/0017). Lines that cannot be written are lost.
 */
export class BufferedOutput {
  #unwritten = '';
  #writeInProgress: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly fd: number) {
    // An `exit` handler cannot wait, so it writes the remaining lines synchronously. While an earlier write is in progress, it writes
    // nothing, because the lines would be mixed.
    process.once('exit', () => {
      if (this.#writeInProgress) return;
      try {
        writeSync(fd, this.#unwritten);
      } catch {
        // There is no place to report this error.
      }
    });
  }

  /** Adds a line, which must end with a line break. */
  write(line: string): void {
    if (this.#unwritten.length > MAX_UNWRITTEN_CHARACTERS) return;
    this.#unwritten += line;
    if (this.#unwritten.length >= COLLECT_CHARACTERS) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), COLLECT_MS).unref();
  }

  /** Starts to write the collected lines, at once or after the write in progress. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#writeInProgress || this.#unwritten === '') return;
    const bytes = Buffer.from(this.#unwritten);
    this.#unwritten = '';
    this.#writeInProgress = this.#send(bytes).finally(() => {
      this.#writeInProgress = undefined;
      this.flush();
    });
  }

  /** Resolves when everything is written, or after SHUTDOWN_TIMEOUT_MS. */
  async waitUntilWritten(): Promise<void> {
    const timeout = pause(SHUTDOWN_TIMEOUT_MS, 'timeout', { ref: false });
    for (this.flush(); this.#writeInProgress;)
      if ((await Promise.race([this.#writeInProgress, timeout])) === 'timeout') return;
  }

  async #send(bytes: Buffer): Promise<void> {
    for (let rest = bytes; rest.length > 0;) {
      const { error, length } = await writeBytes(this.fd, rest);
      // A non-blocking pipe is full: the rest is written after a pause.
      if (error?.code === 'EAGAIN') await pause(COLLECT_MS, undefined, { ref: false });
      else if (error) return;
      rest = rest.subarray(length);
    }
  }
}

/** Writes as many of the bytes as the file descriptor accepts. @returns their number */
const writeBytes = (fd: number, bytes: Buffer) =>
  new Promise<{ error: NodeJS.ErrnoException | null; length: number }>((resolve) =>
    write(fd, bytes, (error, length) => resolve({ error, length: error ? 0 : length })),
  );
