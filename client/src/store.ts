import { emptyState, type State, type StateStorage } from './state-file.js';

/** The state in memory and its storage. A change applies to memory at once; writes to the storage run one at a time. */
export class Store {
  #state: State = emptyState();
  #isUnread = false;
  #writing: Promise<void> = Promise.resolve();
  readonly #storage: StateStorage;
  readonly #log: (message: string) => void;

  constructor(storage: StateStorage, log: (message: string) => void) {
    this.#storage = storage;
    this.#log = log;
  }

  /** Whether a stored state exists that could not be read; `load` may be called again. */
  get isUnread(): boolean {
    return this.#isUnread;
  }

  get state(): Readonly<State> {
    return this.#state;
  }

  /** Reads the stored state. A crash signature and manifest sequences that were saved while it could not be read are kept. */
  async load(): Promise<void> {
    const state = await this.#storage.read();
    this.#isUnread = state === undefined;
    if (!state) return;
    const { crash, sequences } = this.#state;
    this.#state = {
      ...state,
      crash: crash ?? state.crash,
      sequences: highestOf(state.sequences, sequences),
    };
  }

  /** Changes the state. It resolves even if the change could not be stored: a full disk must not stop the application. */
  save(change: Partial<State>): Promise<void> {
    this.#state = { ...this.#state, ...change };
    // A state that could not be read may contain a license, so only a new license may replace it.
    if (change.license) this.#isUnread = false;
    if (this.#isUnread) return this.#writing;
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
