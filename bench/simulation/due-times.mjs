/** Finds the timer that is due first: a binary heap in typed arrays that knows the position of each timer. */
export class DueTimes {
  #due;
  #heap;
  #place;
  #size = 0;

  /** @param timers number of timers; a timer is a number below it */
  constructor(timers) {
    this.#due = new Float64Array(timers);
    this.#heap = new Int32Array(timers);
    this.#place = new Int32Array(timers).fill(-1);
  }

  /** Sets a timer, or changes its time. */
  set(timer, at) {
    this.#due[timer] = at;
    if (this.#place[timer] < 0) this.#put(timer, this.#size++);
    this.#settle(timer);
  }

  clear(timer) {
    const place = this.#place[timer];
    if (place < 0) return;
    this.#place[timer] = -1;
    const last = this.#heap[--this.#size];
    if (last === timer) return;
    this.#put(last, place);
    this.#settle(last);
  }

  /** Removes and returns the timer that is due first; -1 if none is due at `until`. */
  take(until) {
    if (this.#size === 0 || this.#due[this.#heap[0]] > until) return -1;
    const [first] = this.#heap;
    this.clear(first);
    return first;
  }

  #put(timer, place) {
    this.#heap[place] = timer;
    this.#place[timer] = place;
  }

  // Moves a timer up past later timers, or down past earlier ones.
  #settle(timer) {
    const due = this.#due[timer];
    let place = this.#place[timer];
    for (let above; place > 0 && this.#due[this.#heap[(above = (place - 1) >> 1)]] > due; place = above)
      this.#put(this.#heap[above], place);
    for (;;) {
      let below = place * 2 + 1;
      if (below >= this.#size) break;
      if (below + 1 < this.#size && this.#due[this.#heap[below + 1]] < this.#due[this.#heap[below]])
        below += 1;
      if (this.#due[this.#heap[below]] >= due) break;
      this.#put(this.#heap[below], place);
      place = below;
    }
    this.#put(timer, place);
  }
}
