import { ask, askForSession } from '../shared/api/api.js';
import type {
  HolderLicensesAnswer,
  ReleaseAnswer,
  WaitingErasure,
} from '../../src/http/responses/api-types.js';

// The requests of the page to the portal API (docs/contract.md#portal).
export const readHolder = () => askForSession<HolderLicensesAnswer>();
export const signInByKey = (email: string, license_key: string) =>
  ask('POST', 'api/session', { email, license_key });
export const mailCode = (to: { readonly email: string } | { readonly hint: string }) =>
  ask<{ sent_to: string }>('POST', 'api/session/code', to);
/** The address is left out if the code was requested with a hint. */
export const signInByCode = (typed: { readonly email?: string; readonly code: string }) =>
  ask('POST', 'api/session', typed);
export const signOut = () => ask('DELETE', 'api/session');
export const askForRelease = (id: string, reason: string) =>
  ask('POST', `api/activations/${id}/release-request`, reason ? { reason } : {});
export const release = (id: string) => ask<ReleaseAnswer>('POST', `api/activations/${id}/release`);
export const sendKey = (id: string) => ask('POST', `api/licenses/${id}/send-key`);
/** Reads all data of the holder. The page uses only `email`, and saves the whole as a file. */
export const readExport = () => ask<{ email: string }>('GET', 'api/export');
export const askForErasure = (email: string) =>
  ask<{ erasure: WaitingErasure }>('POST', 'api/erasure', { email });
export const cancelErasure = (id: string) => ask('DELETE', `api/erasure?id=${id}`);
