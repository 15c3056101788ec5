/** An error of `pg`, with the members that are read of it. Most errors have only some of them. */
export type DriverError = Error & {
  readonly code?: unknown;
  readonly constraint?: unknown;
  readonly table?: unknown;
  readonly syscall?: unknown;
  /** A host name with several addresses has an error for each. */
  readonly errors?: unknown;
};

/** Returns the error of `pg` that an error of TypeORM contains, or else the error itself. */
export const driverErrorOf = (error: unknown): DriverError =>
  ((error as { driverError?: unknown }).driverError ?? error) as DriverError;
