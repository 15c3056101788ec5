/** The time, from the start of an operation, in which its result is shared. An object, so that tests can change the time. */
export const SHARED_RESULT_LIMITS = { sharedMs: 1_000 };

/**
 * Shares the result of an expensive operation, so that it runs at most once a second for any number of callers. Callers that
 * arrive while it runs wait for the same result. A failure is shared too.
 */
export class SharedResult<Result> {
  #latest: { readonly result: Promise<Result>; readonly startedMs: number; isSettled: boolean } | undefined;

  /** @param monotonic milliseconds of a clock that is never corrected */
  constructor(
    private readonly operation: () => Promise<Result>,
    private readonly monotonic: () => number,
  ) {}

  /** Returns the result of the running operation, or one that is less than a second old; otherwise starts the operation. */
  get(): Promise<Result> {
    const nowMs = this.monotonic();
    const latest = this.#latest;
    if (latest && (!latest.isSettled || nowMs - latest.startedMs < SHARED_RESULT_LIMITS.sharedMs))
      return latest.result;
    const started = { result: this.operation(), startedMs: nowMs, isSettled: false };
    const settle = () => void (started.isSettled = true);
    started.result.then(settle, settle);
    this.#latest = started;
    return started.result;
  }
}
