import { Injectable } from '@nestjs/common';
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
  WebAuthnCredential,
} from '@simplewebauthn/server';
import { parse as uuidBytes } from 'uuid';
import { Config } from '../../core/config.js';
import { CHALLENGE_LIFETIME_MINUTES } from './passkey-challenges.js';

/** The COSE algorithms of common authenticators: EdDSA, ES256, RS256. */
const ALGORITHMS = [-8, -7, -257];
const CEREMONY_TIMEOUT_MS = CHALLENGE_LIFETIME_MINUTES * 60_000;
/** The largest credential id that WebAuthn allows (section 5.1). The library accepts any length, including an empty id. */
const MAX_CREDENTIAL_ID_BYTES = 1023;

/**
 * The formats of an attestation that browsers send if none is requested (WebAuthn, section 5.1.3): nothing, or a signature by the
 * passkey itself. Others are refused: for `android-key` the library sends requests to addresses in the certificates of the answer,
 * to read revocation lists, before it checks who issued these certificates.
 */
const ATTESTATION_FORMATS: readonly unknown[] = ['none', 'packed'];

/** Loads the library at the first use of a passkey, because its 300 modules would slow the start of the service down. */
const loadWebAuthn = () => import('@simplewebauthn/server');

/** The WebAuthn relying party, identified by the host of PUBLIC_URL. No other file calls the WebAuthn library. */
@Injectable()
export class RelyingParty {
  readonly #id: string;
  readonly #origin: string;
  readonly #name: string;

  constructor({ publicUrl, brand }: Config) {
    const { hostname, origin } = new URL(publicUrl);
    this.#id = hostname;
    this.#origin = origin;
    this.#name = brand.productName;
  }

  /** Creates options that name no user, because the answer of the passkey contains the user handle. */
  async createSignInOptions(challenge: Buffer): Promise<PublicKeyCredentialRequestOptionsJSON> {
    const { generateAuthenticationOptions } = await loadWebAuthn();
    return generateAuthenticationOptions({
      rpID: this.#id,
      challenge: new Uint8Array(challenge),
      timeout: CEREMONY_TIMEOUT_MS,
      userVerification: 'required',
    });
  }

  /**
   * Creates the WebAuthn options of a registration.
   * @param existing the staff member's credential ids; an authenticator that has one of them registers no second passkey
   */
  async createRegistrationOptions(
    challenge: Buffer,
    staff: { readonly id: string; readonly email: string },
    existing: readonly Buffer[],
  ): Promise<PublicKeyCredentialCreationOptionsJSON> {
    const { generateRegistrationOptions } = await loadWebAuthn();
    return generateRegistrationOptions({
      rpID: this.#id,
      rpName: this.#name,
      challenge: new Uint8Array(challenge),
      userID: new Uint8Array(uuidBytes(staff.id)),
      userName: staff.email,
      userDisplayName: staff.email,
      timeout: CEREMONY_TIMEOUT_MS,
      attestationType: 'none',
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      supportedAlgorithmIDs: ALGORITHMS,
      excludeCredentials: existing.map((id) => ({ id: id.toString('base64url') })),
    });
  }

  /**
   * Verifies a registration.
   * @returns the credential; null if challenge, origin, user verification, format of the attestation or answer is wrong
   */
  async verifyRegistration(
    response: RegistrationResponseJSON,
    challenge: Buffer,
  ): Promise<WebAuthnCredential | null> {
    const format = await readAttestationFormat(response).catch(() => undefined);
    if (!ATTESTATION_FORMATS.includes(format)) return null;
    const { verifyRegistrationResponse } = await loadWebAuthn();
    const verified = await verifyRegistrationResponse({
      response,
      expectedChallenge: challenge.toString('base64url'),
      expectedOrigin: this.#origin,
      expectedRPID: this.#id,
      supportedAlgorithmIDs: ALGORITHMS,
    }).catch(() => undefined);
    const credential = verified?.registrationInfo?.credential;
    const idBytes = credential ? Buffer.from(credential.id, 'base64url').length : 0;
    return credential && idBytes >= 1 && idBytes <= MAX_CREDENTIAL_ID_BYTES ? credential : null;
  }

  /**
   * Verifies a sign-in.
   * @returns the new signature count, which is 0 for an authenticator that does not count; null if the answer is wrong, or if the
   *   count of an authenticator that counts has not increased
   */
  async verifySignIn(
    response: AuthenticationResponseJSON,
    challenge: Buffer,
    credential: WebAuthnCredential,
  ): Promise<number | null> {
    const { verifyAuthenticationResponse } = await loadWebAuthn();
    const verified = await verifyAuthenticationResponse({
      response,
      expectedChallenge: challenge.toString('base64url'),
      expectedOrigin: this.#origin,
      expectedRPID: this.#id,
      credential,
    }).catch(() => undefined);
    return verified?.verified ? verified.authenticationInfo.newCounter : null;
  }
}

/**
 * Reads the format of the attestation in an answer that is not verified yet; undefined if it names none.
 * @throws Error if the attestation cannot be decoded
 */
async function readAttestationFormat({ response }: RegistrationResponseJSON): Promise<unknown> {
  const { decodeAttestationObject, isoBase64URL } = await import('@simplewebauthn/server/helpers');
  return decodeAttestationObject(isoBase64URL.toBuffer(response.attestationObject)).get('fmt');
}
