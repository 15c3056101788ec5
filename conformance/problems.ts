/** The status and the client_action of each code of the client API, and of `too_many_requests` (docs/errors.md). */
export const CODES: Record<string, readonly [status: number, client_action: string]> = {
  malformed_request: [400, 'fix'],
  not_found: [404, 'fix'],
  method_not_allowed: [405, 'fix'],
  body_too_large: [413, 'fix'],
  unsupported_media_type: [415, 'fix'],
  invalid_request: [422, 'fix'],
  license_not_found: [404, 'stop'],
  license_suspended: [403, 'stop'],
  license_refunded: [403, 'stop'],
  license_revoked: [403, 'stop'],
  license_expired: [403, 'stop'],
  version_not_covered: [403, 'stop'],
  machine_limit_reached: [409, 'stop'],
  binding_released: [403, 'stop'],
  token_invalid: [403, 'reactivate'],
  no_version_published: [404, 'retry'],
  too_many_requests: [429, 'retry'],
  internal_error: [500, 'retry'],
  unavailable: [503, 'retry'],
};
/** The values of client_action (docs/contract.md#errors). */
export const CLIENT_ACTIONS = ['retry', 'fix', 'reactivate', 'stop'];
