import { ConfigError, SettingsError } from '../../core/config-error.js';
import { errorSentence } from '../terminal/error-sentence.js';

/** The result of a check. Its text names the remedy unless all is right. */
export interface Finding {
  readonly status: 'ok' | 'warn' | 'fail';
  /** What was checked, one or two words. */
  readonly check: string;
  readonly text: string;
}

/** Collects the findings of `mooring doctor`. */
export class Report {
  readonly findings: Finding[] = [];
  /** Whether a setting is wrong. */
  isSettingWrong = false;

  ok(check: string, text: string): void {
    this.#add({ status: 'ok', check, text });
  }

  warn(check: string, text: string): void {
    this.#add({ status: 'warn', check, text });
  }

  /** Adds a failure. A ConfigError is a wrong setting. */
  fail(check: string, error: unknown): void {
    this.isSettingWrong ||= error instanceof ConfigError;
    const texts = error instanceof SettingsError ? error.sentences : [errorSentence(error)];
    for (const text of texts) this.#add({ status: 'fail', check, text });
  }

  /** Runs a check. What it returns is added as a sentence about what is right, and what it throws as a failure. */
  async run(check: string, work: () => Promise<string | void> | string | void): Promise<void> {
    try {
      const text = await work();
      if (text) this.ok(check, text);
    } catch (error) {
      this.fail(check, error);
    }
  }

  /** The checks that failed, each once. */
  get failed(): string[] {
    return [...new Set(this.findings.filter(({ status }) => status === 'fail').map(({ check }) => check))];
  }

  // A fault that two checks find is reported once.
  #add(finding: Finding): void {
    if (!this.findings.some(({ text }) => text === finding.text)) this.findings.push(finding);
  }
}
