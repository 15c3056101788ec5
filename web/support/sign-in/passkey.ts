import { call } from '../call.js';
import type { Passkey, PasskeyAnswer } from '../../../src/http/responses/api-types.js';
import { askForPasskey, makePasskey, supportsPasskeys } from './webauthn.js';

/** Thrown if the browser gives no passkey. Refusals of the service are thrown unchanged. */
export class PasskeyFailed extends Error {
  constructor(readonly reason: 'unsupported' | 'cancelled' | 'exists' | 'failed') {
    super(reason);
  }
}

/** Signs in with whichever passkey the person picks. @throws PasskeyFailed, ApiError, ServiceUnavailable */
export async function signInWithPasskey(): Promise<void> {
  requirePasskeySupport();
  const options = await readOptions<PublicKeyCredentialRequestOptionsJSON>('session/options');
  const response = await askForPasskey(options).catch(throwPasskeyFailed);
  await call('POST', 'session', { response });
}

/** Makes a passkey for the signed-in person. @throws PasskeyFailed, ApiError, ServiceUnavailable */
export async function enrolPasskey(): Promise<Passkey> {
  requirePasskeySupport();
  const options = await readOptions<PublicKeyCredentialCreationOptionsJSON>('passkeys/options');
  const response = await makePasskey(options).catch(throwPasskeyFailed);
  return (await call<PasskeyAnswer>('POST', 'passkeys', { response })).passkey;
}

const readOptions = async <Options>(path: string) =>
  (await call<{ readonly options: Options }>('POST', path, {})).options;

function requirePasskeySupport(): void {
  if (!supportsPasskeys()) throw new PasskeyFailed('unsupported');
}

// The reason is derived from the error names of WebAuthn, section 5.1. The browser's own messages are not meant for users.
function throwPasskeyFailed(error: unknown): never {
  const name = error instanceof Error ? error.name : '';
  if (name === 'NotAllowedError' || name === 'AbortError') throw new PasskeyFailed('cancelled');
  if (name === 'InvalidStateError') throw new PasskeyFailed('exists');
  if (name === 'NotSupportedError' || name === 'ConstraintError') throw new PasskeyFailed('unsupported');
  throw new PasskeyFailed('failed');
}
