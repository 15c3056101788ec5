import { generateKeyPairSync } from 'node:crypto';
import { der, extension, sequence, signCertificate } from '../support/certificate.js';
import {
  cborBytes,
  cborMapHead,
  cborText,
  type Attestation,
  type NewCredential,
} from '../support/http/authenticator.js';

/** ES256 (-7) in CBOR. */
const ES256 = Buffer.from([0x26]);
// The content of two object identifiers in DER: 2.5.29.31 and 1.3.6.1.4.1.11129.2.1.17.
const CRL_DISTRIBUTION_POINTS = '551d1f';
const ANDROID_KEY_DESCRIPTION = '2b06010401d679020111';

/** An attestation that the credential itself signs (WebAuthn, section 8.2). */
export const selfAttestation = ({ signature }: NewCredential): Attestation => ({
  format: 'packed',
  statement: Buffer.concat([cborMapHead(2), cborText('alg'), ES256, cborText('sig'), cborBytes(signature)]),
});

/**
 * Creates an attestation in the format of Android (WebAuthn, section 8.4), with a self-made root certificate, which no service may
 * trust.
 * @param revocationListUrl the address of the revocation list that the certificate of the credential names
 */
export const androidKeyAttestation =
  (revocationListUrl: string) =>
  ({ publicKey, clientDataHash, signature }: NewCredential): Attestation => {
    const root = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const [issuer, days] = ['Root', 2];
    const rootContent = { issuer, subject: issuer, publicKey: root.publicKey, extensions: [], days };
    const extensions = [
      extension(ANDROID_KEY_DESCRIPTION, keyDescription(clientDataHash)),
      extension(CRL_DISTRIBUTION_POINTS, distributionPoints(revocationListUrl)),
    ];
    const content = { issuer, subject: 'Passkey', publicKey, extensions, days };
    const certificates = [content, rootContent].map((each) => signCertificate(each, root.privateKey));
    return {
      format: 'android-key',
      statement: Buffer.concat([
        cborMapHead(3),
        cborText('alg'),
        ES256,
        cborText('sig'),
        cborBytes(signature),
        cborText('x5c'),
        // The head of an array.
        Buffer.from([0x80 | certificates.length]),
        ...certificates.map(cborBytes),
      ]),
    };
  };

/** Encodes one distribution point with one name, a URL (RFC 5280, section 4.2.1.13). */
const distributionPoints = (url: string) =>
  sequence(sequence(der(0xa0, der(0xa0, der(0x86, Buffer.from(url))))));

/** Encodes the description of a key: versions, security levels, the challenge, no unique id, and no authorizations. */
const keyDescription = (challenge: Buffer) => {
  const [version, securityLevel] = [der(0x02, Buffer.from([3])), der(0x0a, Buffer.from([1]))];
  return sequence(
    version,
    securityLevel,
    version,
    securityLevel,
    der(0x04, challenge),
    der(0x04),
    sequence(),
    sequence(),
  );
};
