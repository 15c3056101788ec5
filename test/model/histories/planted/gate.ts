import type { Command } from '../../license-model.js';
import type { Observer } from '../recorder.js';

interface HeldStatement {
  readonly release: () => void;
  /** Whether the return of this operation releases the statement. */
  readonly isReleasedByReturn?: (command: Command) => boolean;
  /** Whether a call of `waitForReturn` releases the statement. */
  readonly isReleasedByWait?: boolean;
}

/**
 * Holds a statement until a certain event has occurred, so that an interleaving does not depend on chance. If the event
 * cannot occur any more, because every other client has finished or is held too, the statement is executed.
 */
export class Gate implements Observer {
  #clientsLeft = 1;
  #held: HeldStatement[] = [];

  /** Waits until this method is called for another statement. */
  async waitForAnother(): Promise<void> {
    const others = this.#held.filter(
      ({ isReleasedByReturn, isReleasedByWait }) => !isReleasedByReturn && !isReleasedByWait,
    );
    if (others.length > 0) return this.#release((each) => others.includes(each));
    return this.#hold({});
  }

  /** Waits until another statement is held by `waitForReturn`. */
  async waitForHeldStatement(): Promise<void> {
    if (!this.#held.some(({ isReleasedByReturn }) => isReleasedByReturn))
      await this.#hold({ isReleasedByWait: true });
  }

  /** Waits until an operation of another client has returned for which the function is true. */
  waitForReturn(isReleasedByReturn: (command: Command) => boolean): Promise<void> {
    this.#release(({ isReleasedByWait }) => isReleasedByWait ?? false);
    return this.#hold({ isReleasedByReturn });
  }

  readonly onReturned = (command: Command): void =>
    this.#release(({ isReleasedByReturn }) => isReleasedByReturn?.(command) ?? false);

  readonly onClientsLeft = (left: number): void => {
    this.#clientsLeft = left;
    this.#releaseAllIfStuck();
  };

  #hold(conditions: Omit<HeldStatement, 'release'>): Promise<void> {
    const released = new Promise<void>((release) => this.#held.push({ ...conditions, release }));
    this.#releaseAllIfStuck();
    return released;
  }

  #releaseAllIfStuck(): void {
    if (this.#held.length >= this.#clientsLeft) this.#release(() => true);
  }

  #release(isReleased: (held: HeldStatement) => boolean): void {
    const released = this.#held.filter(isReleased);
    this.#held = this.#held.filter((each) => !released.includes(each));
    for (const { release } of released) release();
  }
}
