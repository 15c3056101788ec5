/**
 * The calls of the browser's passkey functions (WebAuthn, level 3). Credentials are encoded here, because the credentials of
 * password managers often have no `toJSON`, or one that throws.
 */

/** Whether this browser supports passkeys, and can parse their options. */
export const supportsPasskeys = () =>
  typeof PublicKeyCredential === 'function' &&
  typeof PublicKeyCredential.parseCreationOptionsFromJSON === 'function' &&
  typeof PublicKeyCredential.parseRequestOptionsFromJSON === 'function';

/** Asks for a sign-in with a passkey. Throws the browser's own error, such as a `DOMException`. */
export async function askForPasskey(options: PublicKeyCredentialRequestOptionsJSON) {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  const credential = (await navigator.credentials.get({ publicKey })) as PublicKeyCredential;
  const answer = credential.response as AuthenticatorAssertionResponse;
  return encode(credential, {
    clientDataJSON: base64url(answer.clientDataJSON),
    authenticatorData: base64url(answer.authenticatorData),
    signature: base64url(answer.signature),
    ...(answer.userHandle && { userHandle: base64url(answer.userHandle) }),
  });
}

/** Asks for a new passkey. Throws the browser's own error, such as a `DOMException`. */
export async function makePasskey(options: PublicKeyCredentialCreationOptionsJSON) {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  const credential = (await navigator.credentials.create({ publicKey })) as PublicKeyCredential;
  const answer = credential.response as AuthenticatorAttestationResponse;
  return encode(credential, {
    clientDataJSON: base64url(answer.clientDataJSON),
    attestationObject: base64url(answer.attestationObject),
    transports: answer.getTransports?.() ?? [],
  });
}

function encode(credential: PublicKeyCredential, response: Readonly<Record<string, unknown>>) {
  const { id, rawId, type, authenticatorAttachment } = credential;
  return {
    id,
    rawId: base64url(rawId),
    type,
    response,
    clientExtensionResults: credential.getClientExtensionResults(),
    authenticatorAttachment,
  };
}

const base64url = (bytes: ArrayBuffer) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
