import { ApiError } from '../../shared/api/api.js';
import { call } from '../call.js';
import type { LicenseDetail } from '../../../src/http/responses/api-types.js';

interface Change {
  readonly method: 'PATCH' | 'POST';
  /** The path below that of the license, such as `/rekey`. */
  readonly path?: string;
  readonly body: object;
  /** Called if the license was changed since it was read. */
  readonly onConflict: () => Promise<void>;
}

/** Changes a license, unless it was changed since it was read. Throws as `call` does. */
export async function changeLicense<T = undefined>(
  { id, revision }: LicenseDetail,
  { method, path = '', body, onConflict }: Change,
): Promise<T> {
  const headers = { 'if-match': `"${revision}"` };
  try {
    return await call<T>(method, `licenses/${id}${path}`, body, { headers });
  } catch (error) {
    if (error instanceof ApiError && error.code === 'license_changed') await onConflict();
    throw error;
  }
}
