import type { Run } from './year-promises.js';

/** Checks the crashes of a year: a signature is sent with one heartbeat, and never after the user has opted out. */
export class Crashes {
  /** The number of heartbeats with a signature. */
  sent = 0;
  #count = 0;
  readonly #unsent: string[] = [];
  /** Labels of signatures that were sent already, or that an opt-out has deleted. */
  readonly #mustNotBeSent = new Set<unknown>();

  /** Records a crash. @returns its label */
  add(isTelemetryOff: boolean): string {
    const label = `crash-${(this.#count += 1)}`;
    this.#unsent.push(label);
    if (isTelemetryOff) this.deleteUnsent();
    return label;
  }

  /** Records that the user opted out. */
  deleteUnsent(): void {
    this.#unsent.splice(0).forEach((label) => this.#mustNotBeSent.add(label));
  }

  *findWronglySent({ attempts }: Run): Generator<string> {
    for (const { received } of attempts) {
      const telemetry = received?.body?.['telemetry'] as Record<string, unknown> | undefined;
      const label = telemetry?.['crash_label'];
      if (label === undefined) continue;
      this.sent += 1;
      if (this.#mustNotBeSent.has(label))
        yield `${String(label)} was sent, although it was sent before or deleted`;
      if (received!.isConfirmed) this.#mustNotBeSent.add(label);
    }
  }
}
