/** For how many milliseconds after its start a result is shared. */
export const SHARED_RESULT_LIMITS = { sharedMs: 1_000 };

/**
 * The result of an expensive operation, which runs at most once a second however many callers ask. Callers that come while it
 * runs wait for the same result; a failure is shared too.
 */
export class SharedResult<Result> {
  #latest: { readonly result: Promise<Result>; readonly startedMs: number; isSettled: boolean } | undefined;

  /** @param monotonic milliseconds of a clock that is never corrected */
  constructor(
    private readonly operation: () => Promise<Result>,
    private readonly monotonic: () => number,
  ) {}

  /** The result of the operation that runs now, or one that is less than a second old. */
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
