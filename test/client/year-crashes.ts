import type { Run } from './year-guarantees.js';

/** Checks the crashes of a year: no signature is sent again after a confirmed heartbeat with it, or after the user opted out. */
export class Crashes {
  /** The number of heartbeats with a signature that the service has received, as `findWronglySent` counts them. */
  sent = 0;
  #count = 0;
  readonly #sinceOptOut: string[] = [];
  /** Labels of signatures that a confirmed heartbeat had, or that an opt-out has deleted. */
  readonly #mustNotBeSent = new Set<unknown>();

  /** Records a crash. @returns its label */
  add(isTelemetryOff: boolean): string {
    const label = `crash-${(this.#count += 1)}`;
    this.#sinceOptOut.push(label);
    if (isTelemetryOff) this.recordOptOut();
    return label;
  }

  /** Records an opt-out: no crash recorded so far may be sent from now on. */
  recordOptOut(): void {
    this.#sinceOptOut.splice(0).forEach((label) => this.#mustNotBeSent.add(label));
  }

  /** Counts the heartbeats of a run that carry a signature. @returns a sentence for each one that should not have been sent */
  *findWronglySent({ attempts }: Run): Generator<string> {
    for (const { received } of attempts) {
      const telemetry = received?.body?.['telemetry'] as Record<string, unknown> | undefined;
      const label = telemetry?.['crash_label'];
      if (label === undefined) continue;
      this.sent += 1;
      if (this.#mustNotBeSent.has(label))
        yield `${String(label)} was sent, although a confirmed heartbeat had it, or an opt-out deleted it`;
      if (received!.isConfirmed) this.#mustNotBeSent.add(label);
    }
  }
}
