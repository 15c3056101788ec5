import { createHmac, randomBytes, randomUUID } from 'node:crypto';

const APP_VERSION = '0.9.0';
/** Every telemetry field of a heartbeat without a crash report. */
export const TELEMETRY = {
  app_version: APP_VERSION,
  os_version: 'macOS 26.1',
  mac_model: 'Mac15,3',
  arch: 'arm64',
  cpu_cores: 8,
  ram_gb_bucket: '16-32',
  camera_count: 4,
  detector_type: 'coreml',
  uptime_hours: 131,
  crash_count_since_last: 0,
  soc_name: 'Apple M3 Pro',
  detector_compute: 'ane',
  recent_inference_ms: 14,
  detector_compute_units_resolved: 'cpu_and_ne',
  unlock_retry_outcome: 'not_needed',
};

/**
 * For each of `REQUEST_KINDS`, a function that makes one request as bytes, for one activation with a license of
 * its own (data.mjs).
 */
const MAKERS = {
  heartbeat: ({ token }) => post('/v1/heartbeat', { token, app_version: APP_VERSION }),
  telemetry: ({ token }) => post('/v1/heartbeat', { token, app_version: APP_VERSION, telemetry: TELEMETRY }),
  activate_new: (activation) => activate(activation, randomBytes(32).toString('hex')),
  activate_again: (activation) => activate(activation, activation.machine_id),
  manifest: () => get('/v1/manifest'),
  manifest_304: (_activation, etag) => get('/v1/manifest', { 'if-none-match': etag }),
  portal: ({ cookie }) => get('/portal/api/session', { cookie: `mooring_holder=${cookie}` }),
  search: ({ email, staff_token }) =>
    post('/support/api/licenses/search', { email }, { authorization: `Bearer ${staff_token}` }),
};

/**
 * Returns a function that gives the next request of a kind as bytes. All requests are made before the measurement, except
 * those of new machines.
 */
export function requestsOf(requestKind, { activations, etag }) {
  const make = MAKERS[requestKind];
  let next = Math.floor(Math.random() * activations.length);
  // Each request needs a machine id that was not used before.
  if (requestKind === 'activate_new')
    return () => make(activations[(next = (next + 1) % activations.length)]);
  const requests = requestKind.startsWith('manifest')
    ? [make(undefined, etag)]
    : activations.map((activation) => make(activation, etag));
  return () => requests[(next = (next + 1) % requests.length)];
}

/** Makes one request of a kind for one activation. */
export const requestOf = (requestKind, activation, etag) => MAKERS[requestKind](activation, etag);

function activate({ license_key, email }, machine_id) {
  return post('/v1/activate', {
    license_key,
    email,
    machine_id,
    hostname_hint: 'Studio Mac',
    app_version: APP_VERSION,
  });
}

/** Makes the report of a purchase as bytes, signed as Standard Webhooks says. */
export function purchaseReport(secret, body) {
  return post('/v1/purchases', body, webhookHeaders(secret, JSON.stringify(body)));
}

/** Makes the headers that sign a webhook. @param secret in base64 */
export function webhookHeaders(secret, body) {
  const [id, at] = [randomUUID(), Math.floor(Date.now() / 1000)];
  const signature = createHmac('sha256', Buffer.from(secret, 'base64'))
    .update(`${id}.${at}.${body}`)
    .digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': String(at), 'webhook-signature': `v1,${signature}` };
}

/** Makes a POST request as bytes. @param headers further headers, by name */
export function post(path, body, headers = {}) {
  const text = JSON.stringify(body);
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n${linesOf(headers)}\r\n${text}`,
  );
}

export const get = (path, headers = {}) =>
  Buffer.from(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n${linesOf(headers)}\r\n`);

const linesOf = (headers) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
