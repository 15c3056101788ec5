/**
 * How long a command waits for a server, in milliseconds. The limits are members of an object, so that tests can change them: on a
 * slow machine a server without a fault may need longer.
 */
export const RESPONSE_TIMEOUTS_MS = {
  /** The wait of `mooring doctor` for a probe of a service. */
  probe: 3_000,
  /** The wait for a manifest. */
  manifest: 10_000,
  /** The wait for the answer to a publication. */
  publication: 30_000,
  /** The longest wait for the next bytes of an image. The whole download has no limit, because an image may have gigabytes. */
  imageBytes: 30_000,
};
