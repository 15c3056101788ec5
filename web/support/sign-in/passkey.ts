import { call } from '../call.js';
import type { Passkey, PasskeyAnswer } from '../../shared/api-types.js';
import { askForPasskey, knowsPasskeys, makePasskey } from './webauthn.js';

/** Why the browser gave no passkey; what the service refuses is thrown as it came. */
export class PasskeyFailed extends Error {
  constructor(readonly why: 'unsupported' | 'cancelled' | 'exists' | 'failed') {
    super(why);
  }
}

interface Offer<Options> {
  readonly options: Options;
}

/** Signs in with whichever passkey the person picks. @throws PasskeyFailed, Refused, ServiceUnavailable */
export async function signInWithPasskey(): Promise<void> {
  demandSupport();
  const { options } = await call<Offer<PublicKeyCredentialRequestOptionsJSON>>('POST', 'session/options', {});
  const response = await askForPasskey(options).catch(explain);
  await call('POST', 'session', { response });
}

/** Makes a passkey for who is signed in. @throws PasskeyFailed, Refused, ServiceUnavailable */
export async function enrolPasskey(): Promise<Passkey> {
  demandSupport();
  const { options } = await call<Offer<PublicKeyCredentialCreationOptionsJSON>>(
    'POST',
    'passkeys/options',
    {},
  );
  const response = await makePasskey(options).catch(explain);
  return (await call<PasskeyAnswer>('POST', 'passkeys', { response })).passkey;
}

function demandSupport(): void {
  if (!knowsPasskeys()) throw new PasskeyFailed('unsupported');
}

// By the names that the specification gives (WebAuthn, 5.1): a browser's own messages are not for people.
function explain(error: unknown): never {
  const name = error instanceof Error ? error.name : '';
  if (name === 'NotAllowedError' || name === 'AbortError') throw new PasskeyFailed('cancelled');
  if (name === 'InvalidStateError') throw new PasskeyFailed('exists');
  if (name === 'NotSupportedError' || name === 'ConstraintError') throw new PasskeyFailed('unsupported');
  throw new PasskeyFailed('failed');
}
