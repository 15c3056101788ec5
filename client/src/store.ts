import { emptyState, type State, type StateStorage } from './state-file.js';

/** The state in memory and where it is kept. Changes are made at once; writes follow one another. */
export class Store {
  #state: State = emptyState();
  #unread = false;
  #writing: Promise<void> = Promise.resolve();
  readonly #storage: StateStorage;
  readonly #log: (message: string) => void;

  constructor(storage: StateStorage, log: (message: string) => void) {
    this.#storage = storage;
    this.#log = log;
  }

  /** Whether there is a state that could not be read: loading again may help. */
  get unread(): boolean {
    return this.#unread;
  }

  get state(): Readonly<State> {
    return this.#state;
  }

  /** Keeps what was learned while the state could not be read. */
  async load(): Promise<void> {
    const state = await this.#storage.read();
    this.#unread = state === undefined;
    if (!state) return;
    const { crash, sequences } = this.#state;
    this.#state = {
      ...state,
      crash: crash ?? state.crash,
      sequences: highestOf(state.sequences, sequences),
    };
  }

  /** Resolves when the change is on disk, or when that failed: a full disk must not stop the application. */
  save(change: Partial<State>): Promise<void> {
    this.#state = { ...this.#state, ...change };
    // What could not be read may hold a license: only a new one may take its place.
    if (change.license) this.#unread = false;
    if (this.#unread) return this.#writing;
    this.#writing = this.#writing
      .then(() => this.#storage.write(this.#state))
      .catch(() => this.#log('the license state could not be written'));
    return this.#writing;
  }

  idle(): Promise<void> {
    return this.#writing;
  }
}

function highestOf(stored: State['sequences'], seen: State['sequences']): State['sequences'] {
  const higher = Object.entries(seen).filter(
    ([key, { sequence }]) => sequence > (stored[key]?.sequence ?? -Infinity),
  );
  return { ...stored, ...Object.fromEntries(higher) };
}
