import { write, writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** The longest time for which lines are collected before they are written. */
const COLLECT_MS = 100;
/** The pause before another attempt to write into a full pipe. */
const FULL_PIPE_MS = 5;
/** When this many bytes are collected, they are written at once. */
const COLLECT_BYTES = 64 * 1024;
/**
 * The usual size of a block: COLLECT_BYTES, and space for the line that exceeds them. A line that does not fit gets a larger block.
 */
const BLOCK_BYTES = COLLECT_BYTES + 16 * 1024;
/** With more full blocks than this, further lines are dropped: a log without a reader must not stop the service. */
const MAX_FULL_BLOCKS = 50;
/** The largest number of bytes of a UTF-16 code unit in UTF-8. */
const MAX_BYTES_PER_UNIT = 3;
/** The longest time that the shutdown waits for the lines to be written. */
const SHUTDOWN_TIMEOUT_MS = 500;

/**
 * Writes lines to a file descriptor. The lines of 100 ms are written together, outside the event loop, because one write for each
 * line took a large part of the time of a fast response (docs/decisions/0017). Each line is encoded when it is added, since
 * joining many short texts later takes several times as long. Lines that cannot be written are lost.
 */
export class BufferedOutput {
  #block: Buffer = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  #used = 0;
  /** Full blocks, which wait for the write in progress. */
  readonly #full: Buffer[] = [];
  /** A written block, which is used again. A block is the whole of its `ArrayBuffer`, because `allocUnsafeSlow` uses no pool. */
  #reusable: Buffer | undefined;
  #writeInProgress: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly fd: number) {
    // An `exit` handler cannot wait, so it writes the remaining lines synchronously. While an earlier write is in progress, it
    // writes nothing, because the lines would be mixed.
    process.once('exit', () => {
      if (this.#writeInProgress) return;
      try {
        for (let lines = this.#take(); lines; lines = this.#take())
          for (let rest = lines; rest.length > 0;) rest = rest.subarray(writeSync(fd, rest));
      } catch {
        // There is no place to report this error.
      }
    });
  }

  /** Adds a line, which must end with a line break. */
  write(line: string): void {
    if (this.#full.length > MAX_FULL_BLOCKS) return;
    const maxBytes = line.length * MAX_BYTES_PER_UNIT;
    if (this.#used + maxBytes > this.#block.length) this.#startBlock(maxBytes);
    this.#used += this.#block.write(line, this.#used);
    if (this.#used >= COLLECT_BYTES) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), COLLECT_MS).unref();
  }

  /** Starts to write the collected lines, at once or after the write in progress. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#writeInProgress) return;
    const lines = this.#take();
    if (!lines) return;
    this.#writeInProgress = this.#send(lines).finally(() => {
      this.#writeInProgress = undefined;
      if (lines.buffer.byteLength === BLOCK_BYTES) this.#reusable = Buffer.from(lines.buffer);
      // Lines that were added during the write wait for their timer. No timer means that there are none, or that `flush` was called
      // for them and returned because of this write.
      if (this.#full.length > 0 || !this.#timer) this.flush();
    });
  }

  /** Resolves when everything is written, or after SHUTDOWN_TIMEOUT_MS. */
  async waitUntilWritten(): Promise<void> {
    const done = new AbortController();
    // This timer keeps the process alive; the timer of a full pipe does not.
    const timeout = pause(SHUTDOWN_TIMEOUT_MS, 'timeout', { signal: done.signal }).catch(() => undefined);
    for (this.flush(); this.#writeInProgress; this.flush())
      if ((await Promise.race([this.#writeInProgress, timeout])) === 'timeout') break;
    done.abort();
  }

  /** Puts the lines so far into `#full`, and begins a block with space for `minBytes` or more. */
  #startBlock(minBytes = 0): void {
    if (this.#used > 0) this.#full.push(this.#block.subarray(0, this.#used));
    const reusable = minBytes <= BLOCK_BYTES ? this.#reusable : undefined;
    this.#block = reusable ?? Buffer.allocUnsafeSlow(Math.max(minBytes, BLOCK_BYTES));
    this.#reusable = undefined;
    this.#used = 0;
  }

  /** Removes the oldest block of lines and returns it; undefined if no lines are collected. */
  #take(): Buffer | undefined {
    if (this.#full.length === 0 && this.#used > 0) this.#startBlock();
    return this.#full.shift();
  }

  async #send(bytes: Buffer): Promise<void> {
    for (let rest = bytes; rest.length > 0;) {
      const { error, length } = await writeBytes(this.fd, rest);
      // A non-blocking pipe is full: the rest is written after a pause.
      if (error?.code === 'EAGAIN') await pause(FULL_PIPE_MS, undefined, { ref: false });
      else if (error) return;
      rest = rest.subarray(length);
    }
  }
}

/** Writes as many of the bytes as the file descriptor accepts. @returns their number, and the error if there is one */
const writeBytes = (fd: number, bytes: Buffer) =>
  new Promise<{ error: NodeJS.ErrnoException | null; length: number }>((resolve) =>
    write(fd, bytes, (error, length) => resolve({ error, length: error ? 0 : length })),
  );
