/** A setting that cannot be used. Its message is one sentence for an operator; the program exits with 2. */
export class ConfigError extends Error {}
