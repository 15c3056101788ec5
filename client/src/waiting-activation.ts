import type { Activation } from './license.js';
import type { NamedTimers } from './named-timers.js';
import { LicenseProblem, ServiceUnreachable } from './problem.js';
import * as schedule from './schedule.js';
import type { Status } from './status.js';

/**
 * Repeats an activation that the machine limit refused, for ten minutes: meanwhile the user may release a machine at
 * `release_url`, and need not click Activate again (docs/clients.md#a-full-license).
 */
export class WaitingActivation {
  readonly #timers: Pick<NamedTimers<'activation'>, 'set' | 'clear'>;
  readonly #activate: (activation: Activation) => Promise<Status>;
  #latest: Activation | undefined;

  /** @param activate sends the request */
  constructor(
    timers: Pick<NamedTimers<'activation'>, 'set' | 'clear'>,
    activate: (activation: Activation) => Promise<Status>,
  ) {
    this.#timers = timers;
    this.#activate = activate;
  }

  /** Activates. A new click replaces an activation that waits. @throws the error of `activate` */
  async start(activation: Activation): Promise<Status> {
    this.#timers.clear('activation');
    this.#latest = activation;
    try {
      return await this.#activate(activation);
    } catch (error) {
      if (isAtLimit(error))
        this.#wait(activation, schedule.FULL_LICENSE_MS, schedule.FULL_LICENSE_INTERVAL_MS);
      throw error;
    }
  }

  /** @param leftMs the time in which the activation may still be repeated */
  #wait(activation: Activation, leftMs: number, delayMs: number): void {
    if (delayMs > leftMs || this.#latest !== activation) return;
    const again = () =>
      this.#activate(activation).catch((error: unknown) => {
        const next = isAtLimit(error) ? schedule.FULL_LICENSE_INTERVAL_MS : schedule.FULL_LICENSE_RETRY_MS;
        // After any other refusal only a click activates.
        if (isAtLimit(error) || isForLater(error)) this.#wait(activation, leftMs - delayMs, next);
      });
    this.#timers.set('activation', again, delayMs);
  }
}

const isAtLimit = (error: unknown) => error instanceof LicenseProblem && error.is('machine_limit_reached');

const isForLater = (error: unknown) =>
  error instanceof ServiceUnreachable || (error instanceof LicenseProblem && error.client_action === 'retry');
