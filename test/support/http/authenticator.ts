import { generateKeyPairSync, hash, randomBytes, sign, type KeyObject } from 'node:crypto';

/** Values with which a test replaces those of a correct authenticator, browser or page. */
export interface Forgery {
  readonly origin?: string;
  readonly rpId?: string;
  readonly challenge?: string;
  readonly type?: string;
  readonly userHandle?: string;
  /** The flags of the authenticator data: 1 for user present, 4 for user verified. */
  readonly flags?: number;
  readonly key?: KeyObject;
  readonly credentialId?: Buffer;
  readonly attestation?: (credential: NewCredential) => Attestation;
}

/** What an attestation is about: a new credential, and its signature of the authenticator data and the client data. */
export interface NewCredential {
  readonly publicKey: KeyObject;
  readonly clientDataHash: Buffer;
  readonly signature: Buffer;
}

/** A statement about a new credential. */
export interface Attestation {
  readonly format: string;
  /** A map in CBOR. */
  readonly statement: Buffer;
}

interface CreationOptions {
  readonly challenge: string;
  readonly rp: { readonly id: string };
  readonly user: { readonly id: string };
}
interface RequestOptions {
  readonly challenge: string;
  readonly rpId: string;
}

const PRESENT_AND_VERIFIED = 0x05;
const HAS_CREDENTIAL = 0x40;
/** No statement: an empty map. */
const NO_ATTESTATION: Attestation = { format: 'none', statement: cborMapHead(0) };

/** A software authenticator (WebAuthn, ES256) with one discoverable credential and a signature counter. */
export class Authenticator {
  readonly credentialId = randomBytes(32);
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  #userHandle = '';
  /** The signature counter. It stays 0 if `counts` is false, as with a synchronized passkey. */
  count = 0;

  constructor(
    private readonly origin: string,
    private readonly counts = true,
  ) {}

  /** Creates the credential. @returns the body that the page sends */
  create(options: CreationOptions, forgery: Forgery = {}): Record<string, unknown> {
    this.#userHandle = options.user.id;
    const clientDataJSON = this.#clientData('webauthn.create', options.challenge, forgery);
    const id = forgery.credentialId ?? this.credentialId;
    const aaguid = Buffer.alloc(16);
    const length = Buffer.from([id.length >> 8, id.length & 0xff]);
    const credential = Buffer.concat([aaguid, length, id, this.#coseKey()]);
    const flags = (forgery.flags ?? PRESENT_AND_VERIFIED) | HAS_CREDENTIAL;
    const authData = Buffer.concat([this.#head(forgery.rpId ?? options.rp.id, flags), credential]);
    const clientDataHash = hash('sha256', clientDataJSON, 'buffer');
    const signature = sign('sha256', Buffer.concat([authData, clientDataHash]), this.#keys.privateKey);
    const { publicKey } = this.#keys;
    const { format, statement } =
      forgery.attestation?.({ publicKey, clientDataHash, signature }) ?? NO_ATTESTATION;
    const attestationObject = Buffer.concat([
      cborMapHead(3),
      cborText('fmt'),
      cborText(format),
      cborText('attStmt'),
      statement,
      cborText('authData'),
      cborBytes(authData),
    ]);
    return credentialBody(id, {
      clientDataJSON: clientDataJSON.toString('base64url'),
      attestationObject: attestationObject.toString('base64url'),
      // Browsers may report transports that the service does not know.
      transports: ['internal', 'unknown'],
    });
  }

  /** Signs a challenge. @returns the body that the page sends */
  get(options: RequestOptions, forgery: Forgery = {}): Record<string, unknown> {
    if (this.counts) this.count += 1;
    const clientDataJSON = this.#clientData('webauthn.get', options.challenge, forgery);
    const authenticatorData = this.#head(forgery.rpId ?? options.rpId, forgery.flags ?? PRESENT_AND_VERIFIED);
    const signed = Buffer.concat([authenticatorData, hash('sha256', clientDataJSON, 'buffer')]);
    return credentialBody(forgery.credentialId ?? this.credentialId, {
      clientDataJSON: clientDataJSON.toString('base64url'),
      authenticatorData: authenticatorData.toString('base64url'),
      signature: sign('sha256', signed, forgery.key ?? this.#keys.privateKey).toString('base64url'),
      userHandle: forgery.userHandle ?? this.#userHandle,
    });
  }

  #clientData(type: string, challenge: string, forgery: Forgery): Buffer {
    const { origin } = this;
    return Buffer.from(
      JSON.stringify({ type, challenge, origin, crossOrigin: false, ...forgedClientData(forgery) }),
    );
  }

  #head(rpId: string, flags: number): Buffer {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(this.count);
    return Buffer.concat([hash('sha256', rpId, 'buffer'), Buffer.from([flags]), count]);
  }

  /** Encodes the public key in COSE: { 1: 2 (EC2), 3: -7 (ES256), -1: 1 (P-256), -2: x, -3: y }. */
  #coseKey(): Buffer {
    const { x, y } = this.#keys.publicKey.export({ format: 'jwk' });
    const [bytesX, bytesY] = [x!, y!].map((part) => cborBytes(Buffer.from(part, 'base64url')));
    const head = Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01]);
    return Buffer.concat([head, Buffer.from([0x21]), bytesX!, Buffer.from([0x22]), bytesY!]);
  }
}

function forgedClientData({ origin, challenge, type }: Forgery): Forgery {
  return { ...(origin && { origin }), ...(challenge && { challenge }), ...(type && { type }) };
}

function credentialBody(id: Buffer, response: Record<string, unknown>): Record<string, unknown> {
  const text = id.toString('base64url');
  return { id: text, rawId: text, type: 'public-key', clientExtensionResults: {}, response };
}

/** Encodes the head of a map with this number of members, which is below 24. */
export function cborMapHead(size: number): Buffer {
  return Buffer.from([0xa0 | size]);
}

export function cborText(text: string): Buffer {
  return Buffer.from([0x60 | text.length, ...Buffer.from(text)]);
}

export function cborBytes(bytes: Buffer): Buffer {
  const { length } = bytes;
  const head = length < 256 ? [0x58, length] : [0x59, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), bytes]);
}
