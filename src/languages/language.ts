import type { Messages } from './messages.js';

/** One language in mails: its texts, and its formats of numbers and of times, which are in UTC. */
export class Language {
  readonly #number: Intl.NumberFormat;
  readonly #day: Intl.DateTimeFormat;
  readonly #moment: Intl.DateTimeFormat;

  constructor(
    readonly tag: string,
    readonly messages: Messages,
  ) {
    // The region of a recipient is unknown. A date in the form 20 November 2026 is not misread in any region.
    const locale = tag === 'en' ? 'en-GB' : tag;
    const options = { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' } as const;
    this.#number = new Intl.NumberFormat(locale);
    this.#day = new Intl.DateTimeFormat(locale, options);
    this.#moment = new Intl.DateTimeFormat(locale, {
      ...options,
      hour: 'numeric',
      minute: '2-digit',
      timeZoneName: 'short',
    });
  }

  formatNumber(value: number): string {
    return this.#number.format(value);
  }

  /** Formats a day: `20 November 2026`. */
  formatDay(time: Date): string {
    return this.#day.format(time);
  }

  /** Formats the last day before an expiry. */
  formatLastDay(expires_at: Date): string {
    return this.formatDay(new Date(expires_at.getTime() - 1));
  }

  /** Formats a time: `20 November 2026 at 13:00 UTC`. */
  formatMoment(time: Date): string {
    return this.#moment.format(time);
  }
}
