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
   * Activates for a click on Activate. It reads the key as typed, and sends its canonical text. It ends the repetition of an
   * earlier activation.
   * @throws the error of `activate`, or a LicenseProblem for a text that is no license key, for which no request is sent
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
        const delay = repeatAfterMs(error);
        if (delay !== undefined) this.#wait(activation, isOver, delay);
      });
    };
    this.#dependencies.timers.set('activation', again, delayMs);
  }
}

const isAtLimit = (error: unknown) => error instanceof LicenseProblem && error.is('machine_limit_reached');

/** Delay until the repetition after this error; undefined if the activation is not repeated. */
function repeatAfterMs(error: unknown): number | undefined {
  if (!(error instanceof LicenseProblem || error instanceof ServiceUnreachable)) return undefined;
  const { ACTIVATION_REPEAT_INTERVAL_MS: interval, ACTIVATION_REPEAT_DURATION_MS: longest } = schedule;
  const requested = Math.min((error.retry_after_seconds ?? 0) * 1000, longest);
  if (error instanceof ServiceUnreachable) return Math.max(interval, requested);
  // The service never answers an activation with `reactivate`. A client treats it as `retry`.
  if (error.client_action === 'retry' || error.client_action === 'reactivate')
    return Math.max(schedule.ACTIVATION_REPEAT_RETRY_MS, requested);
  return isAtLimit(error) ? interval : undefined;
}
