/** An invalid setting. The message is one sentence for the operator; the program exits with status 2. */
export class ConfigError extends Error {}
