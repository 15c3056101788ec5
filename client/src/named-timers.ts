import type { Timers } from './time.js';

/** Keeps at most one timer for each name. After `end` no timer can be set. */
export class NamedTimers<Name extends string> {
  readonly #timers: Timers;
  readonly #timersByName = new Map<Name, unknown>();
  #isEnded = false;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** Sets a timer, which replaces an earlier one of the same name. */
  set(name: Name, work: () => unknown, milliseconds: number): void {
    this.clear(name);
    if (!this.#isEnded) this.#timersByName.set(name, this.#timers.set(work, milliseconds));
  }

  clear(name: Name): void {
    this.#timers.clear(this.#timersByName.get(name));
  }

  end(): void {
    this.#isEnded = true;
    for (const name of this.#timersByName.keys()) this.clear(name);
  }
}
