const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Of a hundred, so many are there for the launch, and how long that takes. */
const EARLY = 80;
const LAUNCH = 6 * HOUR;
/** The simulated days begin on a Thursday, so that the third is one on which offices are closed. */
const THURSDAY = 4;
const WEEKEND = [6, 0];

/** Where users are: hours from UTC, and how many of a hundred. */
const REGIONS = [
  [-8, 14],
  [-6, 9],
  [-5, 19],
  [-3, 4],
  [0, 9],
  [1, 24],
  [2, 8],
  [5.5, 4],
  [8, 4],
  [9, 5],
];

/** How machines are used: of a hundred, and from when to when they are on; none for those that are never off. */
const HABITS = [
  { share: 75, hours: null },
  { share: 15, hours: [8.5, 17.5], isOffice: true },
  { share: 10, hours: [16.5, 23] },
];

/** When each machine is on: some always, some in office hours, some in the evening, each in its own time zone. */
export class MachineSchedule {
  #zone;
  #habit;
  #random;

  constructor(count, random) {
    this.#random = random;
    const drawn = (shares) => {
      let left = random.below(100);
      return shares.findIndex((share) => (left -= share) < 0);
    };
    const zones = REGIONS.map(([, share]) => share);
    const habits = HABITS.map(({ share }) => share);
    this.#zone = Int8Array.from({ length: count }, () => drawn(zones));
    this.#habit = Int8Array.from({ length: count }, () => drawn(habits));
  }

  /**
   * When its user first opens the application: within hours of its launch, with which the simulation begins, or on one of
   * the days but the last, by daylight or when the machine is on.
   */
  opened(machine, days) {
    if (this.#random.below(100) < EARLY) return this.#random.between(0, LAUNCH);
    const day = this.#random.below(Math.max(days - 1, 1));
    const [from, to] = HABITS[this.#habit[machine]].hours ?? [8, 22];
    const local = this.#random.between(from, to) * HOUR;
    const moment = local - REGIONS[this.#zone[machine]][0] * HOUR;
    return day * DAY + ((moment + DAY) % DAY);
  }

  /** When it is next switched off; Infinity for one that never is. */
  nextOff(machine, now) {
    return this.#next(machine, now, 1);
  }

  /** When it is next switched on. */
  nextOn(machine, now) {
    return this.#next(machine, now, 0);
  }

  // A quarter of an hour early or late, for no person is exact to the minute.
  #next(machine, now, end) {
    const { hours, isOffice } = HABITS[this.#habit[machine]];
    if (!hours) return Infinity;
    const shift = REGIONS[this.#zone[machine]][0] * HOUR;
    for (let day = Math.floor((now + shift) / DAY); ; day += 1) {
      const isFree = isOffice && WEEKEND.includes((day + THURSDAY) % 7);
      const at = day * DAY + (hours[end] + this.#random.between(-0.25, 0.25)) * HOUR - shift;
      if (at > now && !isFree) return at;
    }
  }
}
