/**
 * What the browser's own passkeys need around them (WebAuthn, level 3). Its answers are written out by hand: those that a
 * password manager puts in their place often lack `toJSON`, or have one that throws.
 */

interface Encoded {
  readonly id: string;
  readonly rawId: string;
  readonly type: string;
  readonly response: Readonly<Record<string, unknown>>;
  readonly clientExtensionResults: unknown;
  readonly authenticatorAttachment: string | null;
}

/** Whether this browser knows passkeys, and how to read their options. */
export const knowsPasskeys = () =>
  typeof PublicKeyCredential === 'function' &&
  typeof PublicKeyCredential.parseCreationOptionsFromJSON === 'function' &&
  typeof PublicKeyCredential.parseRequestOptionsFromJSON === 'function';

/** Throws the browser's own `DOMException`. */
export async function askForPasskey(options: PublicKeyCredentialRequestOptionsJSON): Promise<Encoded> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  const credential = (await navigator.credentials.get({ publicKey })) as PublicKeyCredential;
  const answer = credential.response as AuthenticatorAssertionResponse;
  return encoded(credential, {
    clientDataJSON: base64url(answer.clientDataJSON),
    authenticatorData: base64url(answer.authenticatorData),
    signature: base64url(answer.signature),
    ...(answer.userHandle && { userHandle: base64url(answer.userHandle) }),
  });
}

/** Throws the browser's own `DOMException`. */
export async function makePasskey(options: PublicKeyCredentialCreationOptionsJSON): Promise<Encoded> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  const credential = (await navigator.credentials.create({ publicKey })) as PublicKeyCredential;
  const answer = credential.response as AuthenticatorAttestationResponse;
  return encoded(credential, {
    clientDataJSON: base64url(answer.clientDataJSON),
    attestationObject: base64url(answer.attestationObject),
    transports: answer.getTransports?.() ?? [],
  });
}

function encoded(credential: PublicKeyCredential, response: Encoded['response']): Encoded {
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
