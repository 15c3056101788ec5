import { write, writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** A line waits for others this long at most, or until they are so many characters. */
const GATHER_MS = 100;
const GATHER_LENGTH = 32_768;
/** What waits while nobody takes it; what comes then is dropped, since a log that nobody reads must stop no answer. */
const WAITING_LENGTH = 4 * 1024 * 1024;
/** How long the end of the process waits for whoever takes the lines. */
const END_MS = 500;

/**
 * A file descriptor for lines: what comes within a few milliseconds is written together and off the event loop, since a write
 * for each line cost a fifth of a quick answer (decision 0017). What cannot be written is lost, and nothing waits for it.
 */
export class BufferedOutput {
  #waiting = '';
  #writing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly fd: number) {
    // An end without warning: what waits goes out at once, unless nobody takes what went before.
    process.once('exit', () => {
      if (this.#writing) return;
      try {
        writeSync(fd, this.#waiting);
      } catch {
        // Nobody is left to be told.
      }
    });
  }

  write(line: string): void {
    if (this.#waiting.length > WAITING_LENGTH) return;
    this.#waiting += line;
    if (this.#waiting.length >= GATHER_LENGTH) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), GATHER_MS).unref();
  }

  /** Writes what waits now, behind what is being written. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#writing || this.#waiting === '') return;
    const bytes = Buffer.from(this.#waiting);
    this.#waiting = '';
    this.#writing = this.#send(bytes).finally(() => {
      this.#writing = undefined;
      this.flush();
    });
  }

  /** Resolves when everything is written, or nobody takes it. */
  async written(): Promise<void> {
    const late = pause(END_MS, 'late', { ref: false });
    for (this.flush(); this.#writing;) if ((await Promise.race([this.#writing, late])) === 'late') return;
  }

  async #send(bytes: Buffer): Promise<void> {
    for (let rest = bytes; rest.length > 0;) {
      const { error, length } = await written(this.fd, rest);
      // A pipe that is full and does not wait.
      if (error?.code === 'EAGAIN') await pause(GATHER_MS, undefined, { ref: false });
      else if (error) return;
      rest = rest.subarray(length);
    }
  }
}

const written = (fd: number, bytes: Buffer) =>
  new Promise<{ error: NodeJS.ErrnoException | null; length: number }>((resolve) =>
    write(fd, bytes, (error, length) => resolve({ error, length: error ? 0 : length })),
  );
