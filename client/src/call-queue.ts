/** Lets one call happen at a time, in the order in which they were asked for. */
export class CallQueue {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(call: () => Promise<T>): Promise<T> {
    const done = this.#last.then(call);
    this.#last = done.catch(() => {});
    return done;
  }

  /** Resolves when every call has ended that was asked for before. */
  async idle(): Promise<void> {
    await this.#last;
  }
}
