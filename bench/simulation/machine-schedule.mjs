const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The percentage of clients that start during the launch, and the duration of the launch. */
const LAUNCH_PERCENT = 80;
const LAUNCH_MS = 6 * HOUR_MS;
/** The simulation begins on a Thursday, so that offices are closed on its third day. */
const THURSDAY = 4;
const WEEKEND = [6, 0];

/** The time zones of users: hours from UTC, and the percentage of users. */
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

/** How machines are used: the percentage of machines, and the local hours when they are on; null for always on. */
const HABITS = [
  { share: 75, hours: null },
  { share: 15, hours: [8.5, 17.5], isOffice: true },
  { share: 10, hours: [16.5, 23] },
];

/** The hours in which each machine is on: always, in office hours or in the evening, in its own time zone. */
export class MachineSchedule {
  #zone;
  #habit;
  #random;

  constructor(count, random) {
    this.#random = random;
    const draw = (shares) => {
      let left = random.below(100);
      return shares.findIndex((share) => (left -= share) < 0);
    };
    const zones = REGIONS.map(([, share]) => share);
    const habits = HABITS.map(({ share }) => share);
    this.#zone = Int8Array.from({ length: count }, () => draw(zones));
    this.#habit = Int8Array.from({ length: count }, () => draw(habits));
  }

  /**
   * When the user first opens the application: during the launch, with which the simulation begins, or on any day but the
   * last, in the daytime or when the machine is on.
   */
  firstStart(machine, days) {
    if (this.#random.below(100) < LAUNCH_PERCENT) return this.#random.between(0, LAUNCH_MS);
    const day = this.#random.below(Math.max(days - 1, 1));
    const [from, to] = HABITS[this.#habit[machine]].hours ?? [8, 22];
    const local = this.#random.between(from, to) * HOUR_MS;
    const moment = local - REGIONS[this.#zone[machine]][0] * HOUR_MS;
    return day * DAY_MS + ((moment + DAY_MS) % DAY_MS);
  }

  /** When the machine is next switched off; Infinity if it is always on. */
  nextOff(machine, now) {
    return this.#next(machine, now, 1);
  }

  /** When the machine is next switched on; Infinity if it is always on. */
  nextOn(machine, now) {
    return this.#next(machine, now, 0);
  }

  /**
   * Each time varies by up to a quarter of an hour, as people do not act at exact times.
   * @param edge 0 for the beginning of the hours, 1 for their end
   */
  #next(machine, now, edge) {
    const { hours, isOffice } = HABITS[this.#habit[machine]];
    if (!hours) return Infinity;
    const shift = REGIONS[this.#zone[machine]][0] * HOUR_MS;
    for (let day = Math.floor((now + shift) / DAY_MS); ; day += 1) {
      const isClosed = isOffice && WEEKEND.includes((day + THURSDAY) % 7);
      const at = day * DAY_MS + (hours[edge] + this.#random.between(-0.25, 0.25)) * HOUR_MS - shift;
      if (at > now && !isClosed) return at;
    }
  }
}
