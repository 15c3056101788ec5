/** An error of `pg`, with the members that the service reads. Most errors have only some of them. */
export type DriverError = Error & {
  readonly code?: unknown;
  readonly constraint?: unknown;
  readonly table?: unknown;
  readonly syscall?: unknown;
  /** If a host name has several addresses, the error of the connection to each. */
  readonly errors?: unknown;
};

/** Returns the error of `pg` that an error of TypeORM contains, or else the error itself. */
export const driverErrorOf = (error: unknown): DriverError =>
  ((error as { driverError?: unknown }).driverError ?? error) as DriverError;
