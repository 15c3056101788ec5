import { readLicenseKey } from './license-key.js';
import type { NamedTimers } from './named-timers.js';
import { LicenseProblem, ServiceUnreachable } from './problem.js';
import * as schedule from './schedule.js';
import type { Activation } from './state.js';
import type { Status } from './status.js';
import type { Clock } from './time.js';

interface WaitingDependencies {
  readonly timers: Pick<NamedTimers<'activation'>, 'set' | 'clear'>;
  readonly clock: Clock;
  /** Sends the request, unless it is no longer wanted when its turn comes. */
  readonly activate: (activation: Activation, isWanted: () => boolean) => Promise<Status>;
}

/**
 * Repeats an activation that the machine limit refused, for ten minutes: meanwhile the user may release a machine at
 * `release_url`, and need not click Activate again (docs/clients.md#a-full-license).
 */
export class WaitingActivation {
  readonly #dependencies: WaitingDependencies;
  #latest: Activation | undefined;

  constructor(dependencies: WaitingDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Activates for a click on Activate. It reads the key as typed, and sends its canonical text. It replaces an
   * activation that is repeated.
   * @throws the error of `activate`; without a request, a LicenseProblem for a text that is no license key
   */
  async start(typed: Activation): Promise<Status> {
    const { activate, clock } = this.#dependencies;
    this.cancel();
    const activation = { ...typed, license_key: readLicenseKey(typed.license_key) };
    this.#latest = activation;
    // Both clocks are compared: the monotonic clock may stop while the computer sleeps, and the user may set the wall clock.
    const started = [clock.now(), clock.monotonic()] as const;
    const isOver = () =>
      clock.now() - started[0] > schedule.ACTIVATION_REPEAT_DURATION_MS ||
      clock.monotonic() - started[1] > schedule.ACTIVATION_REPEAT_DURATION_MS;
    try {
      return await activate(activation, () => true);
    } catch (error) {
      if (isAtLimit(error)) this.#wait(activation, isOver, schedule.ACTIVATION_REPEAT_INTERVAL_MS);
      throw error;
    }
  }

  /** Ends the repetition, for example when the user closes the window in which they clicked Activate. */
  cancel(): void {
    this.#dependencies.timers.clear('activation');
    this.#latest = undefined;
  }

  #wait(activation: Activation, isOver: () => boolean, delayMs: number): void {
    if (this.#latest !== activation) return;
    // The user may click again or close the window while the repetition waits for another call.
    const isWanted = () => this.#latest === activation && !isOver();
    const again = async () => {
      await this.#dependencies.activate(activation, isWanted).catch((error: unknown) => {
        const isBusy = error instanceof LicenseProblem && error.client_action === 'retry';
        const next = isBusy ? schedule.ACTIVATION_REPEAT_RETRY_MS : schedule.ACTIVATION_REPEAT_INTERVAL_MS;
        // After any other refusal, only another click activates.
        const mayRepeat = isBusy || isAtLimit(error) || error instanceof ServiceUnreachable;
        if (mayRepeat) this.#wait(activation, isOver, next);
      });
    };
    this.#dependencies.timers.set('activation', again, delayMs);
  }
}

const isAtLimit = (error: unknown) => error instanceof LicenseProblem && error.is('machine_limit_reached');
