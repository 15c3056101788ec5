import { emptyState, readState, writeState, type State } from './state-file.js';

/** The state in memory and its file. Changes are made at once; writes follow one another. */
export class Store {
  #state: State = emptyState();
  #unread = false;
  #writing: Promise<void> = Promise.resolve();
  readonly #file: string;
  readonly #log: (message: string) => void;

  constructor(file: string, log: (message: string) => void) {
    this.#file = file;
    this.#log = log;
  }

  /** Whether there is a state that could not be read: loading again may help. */
  get unread(): boolean {
    return this.#unread;
  }

  get state(): Readonly<State> {
    return this.#state;
  }

  async load(): Promise<void> {
    const state = await readState(this.#file, this.#log);
    this.#unread = state === undefined;
    this.#state = state ?? emptyState();
  }

  /** Resolves when the change is on disk, or when that failed: a full disk must not stop the application. */
  save(change: Partial<State>): Promise<void> {
    this.#state = { ...this.#state, ...change };
    // What could not be read may hold a license: only a new one may take its place.
    if (change.license) this.#unread = false;
    if (this.#unread) return this.#writing;
    this.#writing = this.#writing
      .then(() => writeState(this.#file, this.#state))
      .catch(() => this.#log('the license state could not be written'));
    return this.#writing;
  }

  idle(): Promise<void> {
    return this.#writing;
  }
}
