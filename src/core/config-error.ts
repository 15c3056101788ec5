/**
 * A setting that is invalid, or that names something which cannot be used, such as a file, a port or a database. The message is for
 * the operator, usually one sentence. The error ends the start of the service, or a command, with status 2.
 */
export class ConfigError extends Error {}

/** The errors of all invalid settings, with the message of each. The message of this error is the first of them. */
export class SettingsError extends ConfigError {
  readonly sentences: readonly string[];

  // No parameter property, because test programs run this file uncompiled, and Node's type stripping does not support them.
  constructor(sentences: readonly string[]) {
    super(sentences[0]);
    this.sentences = sentences;
  }
}

/** Returns the error of a system call on a file of DATA_DIR as a sentence for the operator, and any other error as it is. */
export function dataDirError(dataDir: string, error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (!syscall) return error;
  return new ConfigError(`DATA_DIR cannot be used: ${dataDir} (${code}).`, { cause: error });
}
