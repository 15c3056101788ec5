import { ConfigError, SettingsError } from './config-error.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads settings from the environment. An invalid setting does not end the reading, so that `throwErrors` can name all of them
 * together. Until then, the value of an invalid setting is undefined or its default, whatever its type says.
 */
export class SettingsReader {
  readonly #environment: Environment;
  readonly #errors: string[] = [];

  // No parameter property, because test programs run this file uncompiled, and Node's type stripping does not support them.
  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** Returns the text of a setting; undefined if it is missing or blank. */
  readonly text = (name: string): string | undefined => this.#environment[name]?.trim() || undefined;

  /** Returns the result of `read`. A ConfigError that it throws is kept for `throwErrors`. */
  check<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.#errors.push(error.message);
      return undefined as T;
    }
  }

  /** Reads a setting with a parser, which throws ConfigError. Returns undefined if the setting is missing. */
  parse<T>(name: string, parse: (name: string, text: string) => T): T | undefined {
    const text = this.text(name);
    return text === undefined ? undefined : this.check(() => parse(name, text));
  }

  /** Reads a whole number. @param limits the smallest and the largest value @param missing the value if the setting is missing */
  integer<T>(name: string, limits: { readonly min: number; readonly max: number }, missing: T): number | T {
    const parsed = this.parse(name, (_name, text) => {
      const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
      if (value >= limits.min && value <= limits.max) return value;
      throw new ConfigError(`${name} must be a whole number from ${limits.min} to ${limits.max}.`);
    });
    return parsed ?? missing;
  }

  /** Reads one of several values. */
  oneOf<const T extends string>(name: string, allowed: readonly T[], missing: NoInfer<T>): T {
    const parsed = this.parse(name, (_name, text) => {
      const value = allowed.find((candidate) => candidate === text);
      if (value) return value;
      throw new ConfigError(`${name} must be one of ${allowed.join(', ')}.`);
    });
    return parsed ?? missing;
  }

  /** Requires a setting if another one is given. */
  requireWith(given: string, needed: string): void {
    if (this.text(given) === undefined || this.text(needed) !== undefined) return;
    this.#errors.push(`With ${given}, ${needed} must be given.`);
  }

  /** @throws SettingsError if a setting is invalid */
  throwErrors(): void {
    if (this.#errors.length > 0) throw new SettingsError(this.#errors);
  }
}
