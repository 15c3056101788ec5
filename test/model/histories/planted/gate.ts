import type { Command } from '../../license-model.js';
import type { Observer } from '../recorder.js';

interface Held {
  readonly go: () => void;
  /** The operation whose return it waits for. */
  readonly opensOn?: (command: Command) => boolean;
  /** Whether it waits for a statement that waits for a return. */
  readonly opensOnHeld?: boolean;
}

/**
 * Holds a statement until another event has occurred, so that an interleaving does not depend on chance. If the event can no
 * longer occur, because every other client has finished or is held too, the statement is executed.
 */
export class Gate implements Observer {
  #clients = 1;
  #held: Held[] = [];

  /** Waits until another statement calls this method. */
  async untilAnother(): Promise<void> {
    const others = this.#held.filter(({ opensOn, opensOnHeld }) => !opensOn && !opensOnHeld);
    if (others.length > 0) return this.#open((each) => others.includes(each));
    return this.#hold({});
  }

  /** Waits until another statement is held by `untilReturned`. */
  async untilHeld(): Promise<void> {
    if (!this.#held.some(({ opensOn }) => opensOn)) await this.#hold({ opensOnHeld: true });
  }

  /** Waits until another client's operation of this kind has returned. */
  untilReturned(opensOn: (command: Command) => boolean): Promise<void> {
    this.#open(({ opensOnHeld }) => opensOnHeld ?? false);
    return this.#hold({ opensOn });
  }

  readonly returned = (command: Command): void => this.#open(({ opensOn }) => opensOn?.(command) ?? false);

  readonly clients = (left: number): void => {
    this.#clients = left;
    this.#openAllIfStuck();
  };

  #hold(what: Omit<Held, 'go'>): Promise<void> {
    const held = new Promise<void>((go) => this.#held.push({ ...what, go }));
    this.#openAllIfStuck();
    return held;
  }

  #openAllIfStuck(): void {
    if (this.#held.length >= this.#clients) this.#open(() => true);
  }

  #open(isOver: (held: Held) => boolean): void {
    const over = this.#held.filter(isOver);
    this.#held = this.#held.filter((each) => !over.includes(each));
    for (const { go } of over) go();
  }
}
