/** No look begins sooner after the one before: an answer is at most so old. */
export const SHARED_RESULT_LIMITS = { sharedMs: 1_000 };

/**
 * A question that costs something, asked at most once a second however many callers want the answer. Callers that come
 * while it is being asked wait for that answer, and a failure is shared too.
 */
export class SharedResult<Answer> {
  #latest: { readonly answer: Promise<Answer>; readonly began: number; isOver: boolean } | undefined;

  /** @param monotonic milliseconds of a clock that no correction moves */
  constructor(
    private readonly look: () => Promise<Answer>,
    private readonly monotonic: () => number,
  ) {}

  /** The answer that is being asked for, or one that is less than a second old. */
  get(): Promise<Answer> {
    const now = this.monotonic();
    const latest = this.#latest;
    if (latest && (!latest.isOver || now - latest.began < SHARED_RESULT_LIMITS.sharedMs))
      return latest.answer;
    const begun = { answer: this.look(), began: now, isOver: false };
    const end = () => void (begun.isOver = true);
    begun.answer.then(end, end);
    this.#latest = begun;
    return begun.answer;
  }
}
