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
import { CHALLENGE_MINUTES } from './passkey-challenges.js';

/** EdDSA, ES256, RS256: what authenticators have. */
const ALGORITHMS = [-8, -7, -257];
const TIMEOUT_MS = CHALLENGE_MINUTES * 60_000;
/** A credential id may be this long (WebAuthn, 5.1); the library takes any length, none among them. */
const MAX_ID_BYTES = 1023;

/** Loaded when the first passkey is used: it brings some 300 modules, a fifth of what a start would load. */
const webAuthn = () => import('@simplewebauthn/server');

/** This service as passkeys know it: the host of PUBLIC_URL. The one file that speaks WebAuthn. */
@Injectable()
export class RelyingParty {
  readonly #id: string;
  readonly #origin: string;
  readonly #name: string;

  constructor({ publicUrl, mailFrom }: Config) {
    const { hostname, origin } = new URL(publicUrl);
    this.#id = hostname;
    this.#origin = origin;
    this.#name = mailFrom.name;
  }

  /** Nobody is named: the passkey says whose it is. */
  async signInOptions(challenge: Buffer): Promise<PublicKeyCredentialRequestOptionsJSON> {
    const { generateAuthenticationOptions } = await webAuthn();
    return generateAuthenticationOptions({
      rpID: this.#id,
      challenge: new Uint8Array(challenge),
      timeout: TIMEOUT_MS,
      userVerification: 'required',
    });
  }

  /** @param existing credential ids of the passkeys that the person has: no authenticator is to make a second one */
  async enrolmentOptions(
    challenge: Buffer,
    staff: { readonly id: string; readonly email: string },
    existing: readonly Buffer[],
  ): Promise<PublicKeyCredentialCreationOptionsJSON> {
    const { generateRegistrationOptions } = await webAuthn();
    return generateRegistrationOptions({
      rpID: this.#id,
      rpName: this.#name,
      challenge: new Uint8Array(challenge),
      userID: new Uint8Array(uuidBytes(staff.id)),
      userName: staff.email,
      userDisplayName: staff.email,
      timeout: TIMEOUT_MS,
      attestationType: 'none',
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      supportedAlgorithmIDs: ALGORITHMS,
      excludeCredentials: existing.map((id) => ({ id: id.toString('base64url') })),
    });
  }

  /** @returns the new credential; null where the answer is not one to this challenge, from this host, by a verified person */
  async enrolled(response: RegistrationResponseJSON, challenge: Buffer): Promise<WebAuthnCredential | null> {
    const { verifyRegistrationResponse } = await webAuthn();
    const verified = await verifyRegistrationResponse({
      response,
      expectedChallenge: challenge.toString('base64url'),
      expectedOrigin: this.#origin,
      expectedRPID: this.#id,
      supportedAlgorithmIDs: ALGORITHMS,
    }).catch(() => null);
    const credential = verified?.registrationInfo?.credential;
    const idBytes = credential ? Buffer.from(credential.id, 'base64url').length : 0;
    return credential && idBytes >= 1 && idBytes <= MAX_ID_BYTES ? credential : null;
  }

  /** @returns the authenticator's new count; null where the answer is wrong, or counts no further than one before it */
  async signedIn(
    response: AuthenticationResponseJSON,
    challenge: Buffer,
    credential: WebAuthnCredential,
  ): Promise<number | null> {
    const { verifyAuthenticationResponse } = await webAuthn();
    const verified = await verifyAuthenticationResponse({
      response,
      expectedChallenge: challenge.toString('base64url'),
      expectedOrigin: this.#origin,
      expectedRPID: this.#id,
      credential,
    }).catch(() => null);
    return verified?.verified ? verified.authenticationInfo.newCounter : null;
  }
}
