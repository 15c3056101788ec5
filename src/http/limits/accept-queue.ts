/** The length of the queue is read at most this often, because that takes about 0.1 ms. */
const LENGTH_PERIOD_MS = 20;

/**
 * Measures since when connections wait in the kernel's queue. The kernel does not say how long each of them has waited, and Node
 * accepts one connection in each turn of the event loop. So a turn without a new connection has found the queue empty, and a
 * connection that is accepted has waited at most since then. After an idle time nothing is measured until a connection is accepted:
 * the time that it and those behind it waited before is not counted.
 */
export class AcceptQueue {
  #isWatched = false;
  #hasAccepted = false;
  /** When the watch began, in milliseconds of `now`: at the first accepted connection after an idle time, or in `whenEmpty`. */
  #emptyAt = 0;
  #whenEmpty: (() => void) | undefined;
  #giveUpAt = Infinity;
  #lengthReadAt = -Infinity;
  #length: number | undefined;

  /**
   * @param now returns the milliseconds of a monotonic clock
   * @param readLength returns how many connections are in the queue; undefined if the system does not say
   * @param afterInput calls a function at the end of a turn of the event loop, after its input was handled
   */
  constructor(
    private readonly now: () => number = () => performance.now(),
    private readonly readLength: () => number | undefined = () => undefined,
    private readonly afterInput: (callback: () => void) => void = setImmediate,
  ) {}

  /** The milliseconds since the watch began; 0 without a watch. The time that a connection waited before it is not counted. */
  get waitingMs(): number {
    return this.#isWatched ? this.now() - this.#emptyAt : 0;
  }

  /** The number of connections in the queue, read at most every `LENGTH_PERIOD_MS`; undefined if the system does not say. */
  get length(): number | undefined {
    const now = this.now();
    if (now - this.#lengthReadAt >= LENGTH_PERIOD_MS)
      [this.#lengthReadAt, this.#length] = [now, this.readLength()];
    return this.#length;
  }

  /** Must be called for each connection that is accepted. */
  accepted(): void {
    this.#hasAccepted = true;
    this.#watch();
  }

  /** Calls a function in the first turn that finds the queue empty, or in the first one after `timeoutMs`. */
  whenEmpty(callback: () => void, timeoutMs: number): void {
    this.#whenEmpty = callback;
    this.#giveUpAt = this.now() + timeoutMs;
    this.#watch();
  }

  #watch(): void {
    if (this.#isWatched) return;
    this.#isWatched = true;
    this.#emptyAt = this.now();
    this.afterInput(() => this.#endTurn());
  }

  #endTurn(): void {
    const isEmpty = !this.#hasAccepted;
    this.#hasAccepted = false;
    if (isEmpty || this.now() >= this.#giveUpAt) {
      this.#whenEmpty?.();
      this.#whenEmpty = undefined;
    }
    // While this callback is due, the next turn does not wait for input: if it accepts no connection, the queue is empty.
    if (isEmpty) this.#isWatched = false;
    else this.afterInput(() => this.#endTurn());
  }
}
