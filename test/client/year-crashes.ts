import type { Run } from './year-promises.js';

/** The crashes of a year: a signature is sent with one heartbeat, and never after the user has opted out. */
export class Crashes {
  /** The number of heartbeats with a signature. */
  sent = 0;
  #made = 0;
  readonly #kept: string[] = [];
  /** Signatures that must not be sent, or not again. */
  readonly #over = new Set<unknown>();

  /** The label of a crash that is reported now. */
  next(telemetryOff: boolean): string {
    const label = `crash-${(this.#made += 1)}`;
    this.#kept.push(label);
    if (telemetryOff) this.forget();
    return label;
  }

  /** The user opted out. */
  forget(): void {
    this.#kept.splice(0).forEach((label) => this.#over.add(label));
  }

  *sentAgain({ attempts }: Run): Generator<string> {
    for (const { received } of attempts) {
      const telemetry = received?.body?.['telemetry'] as Record<string, unknown> | undefined;
      const label = telemetry?.['crash_label'];
      if (label === undefined) continue;
      this.sent += 1;
      if (this.#over.has(label)) yield `${String(label)} sent though it was over`;
      if (received!.confirmed) this.#over.add(label);
    }
  }
}
