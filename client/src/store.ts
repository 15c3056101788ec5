import { emptyState, highestOf, type State } from './state.js';
import type { StateStorage } from './state-file.js';

/** The state in memory and its storage. A change applies to memory at once; writes to the storage run one at a time. */
export class Store {
  #state: State = emptyState();
  #isUnread = false;
  /** The members that were changed since they were last written. */
  #unwritten = new Set<keyof State>();
  /** Those of them whose write failed before. */
  #late = new Set<keyof State>();
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

  /** Combines the stored manifest sequences with those in memory: another process may have seen a newer manifest. */
  async readSequences(): Promise<void> {
    const stored = await this.#storage.read();
    if (!stored) return;
    this.#state = { ...this.#state, sequences: highestOf(stored.sequences, this.#state.sequences) };
  }

  /** Changes the state. It resolves even if the change could not be stored: a full disk must not stop the application. */
  save(change: Partial<State>): Promise<void> {
    this.#state = { ...this.#state, ...change };
    for (const name of Object.keys(change) as (keyof State)[]) {
      this.#unwritten.add(name);
      this.#late.delete(name);
    }
    // A state that could not be read may contain a license, so only a new license may replace it.
    if (change.license) this.#isUnread = false;
    if (this.#isUnread) return this.#writing;
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async #write(): Promise<void> {
    const [changed, late] = [this.#unwritten, this.#late];
    [this.#unwritten, this.#late] = [new Set(), new Set()];
    try {
      await this.#storage.write(this.#state, changed, late);
    } catch {
      // A member that was changed again during the write is not late.
      this.#late = new Set([...changed].filter((name) => !this.#unwritten.has(name)));
      this.#unwritten = new Set([...changed, ...this.#unwritten]);
      this.#log('the license state could not be written');
    }
  }

  idle(): Promise<void> {
    return this.#writing;
  }
}
