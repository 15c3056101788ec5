/** Runs one call at a time, in the order in which they were passed to `run`. */
export class CallQueue {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(call: () => Promise<T>): Promise<T> {
    const done = this.#last.then(call);
    this.#last = done.catch(() => {});
    return done;
  }

  /** Resolves when all calls requested so far have ended. */
  async idle(): Promise<void> {
    await this.#last;
  }
}
