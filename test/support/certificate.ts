import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { DAY_MS } from '../../src/core/clock.js';

/** A self-signed certificate and its key, in PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Encodes a value in DER: its tag, its length and its content. */
export function der(tag: number, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content);
  const { length } = body;
  const lengthBytes =
    length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...lengthBytes]), body]);
}

export const sequence = (...content: Buffer[]) => der(0x30, ...content);
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
/** Encodes an extension of a certificate. @param id its object identifier, in hexadecimal digits */
export const extension = (id: string, value: Buffer) => sequence(oid(id), der(0x04, value));
/** Encodes a time as a GeneralizedTime, such as 20261120130000Z. */
const time = (at: Date) => der(0x18, Buffer.from(at.toISOString().replaceAll(/[-:T]|\.\d+/g, '')));

const ECDSA_WITH_SHA256 = sequence(oid('2a8648ce3d040302'));
const COMMON_NAME = oid('550403');
const SUBJECT_ALT_NAME = '551d11';

const nameOf = (name: string) => sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(name)))));

interface CertificateContent {
  readonly issuer: string;
  readonly subject: string;
  readonly publicKey: KeyObject;
  readonly extensions: readonly Buffer[];
  /** How long the certificate is valid, from yesterday on. */
  readonly days: number;
}

/** Signs a certificate (RFC 5280) with the key of its issuer. @returns the certificate in DER */
export function signCertificate(content: CertificateContent, issuerKey: KeyObject): Buffer {
  const { issuer, subject, publicKey, extensions, days } = content;
  const yesterday = Date.now() - DAY_MS;
  // The fields in the order of the RFC: version 3, serial number, signature algorithm, issuer, validity, subject, public key,
  // extensions. A leading 1 makes the serial number positive.
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1]), randomBytes(8)),
    ECDSA_WITH_SHA256,
    nameOf(issuer),
    sequence(time(new Date(yesterday)), time(new Date(yesterday + days * DAY_MS))),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    ...(extensions.length > 0 ? [der(0xa3, sequence(...extensions))] : []),
  );
  const signature = sign('sha256', body, issuerKey);
  return sequence(body, ECDSA_WITH_SHA256, der(0x03, Buffer.from([0]), signature));
}

/**
 * Makes a certificate for an IPv4 address or a name. Node has no function for it, and not every machine has `openssl`.
 * @param days how long the certificate is valid, from yesterday on
 */
export function makeCertificate(host: string, days = 2): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const isAddress = /^[\d.]+$/.test(host);
  // A GeneralName of RFC 5280: an IP address [7] or a DNS name [2].
  const alternative = isAddress
    ? der(0x87, Buffer.from(host.split('.').map(Number)))
    : der(0x82, Buffer.from(host));
  const extensions = [extension(SUBJECT_ALT_NAME, sequence(alternative))];
  const content = { issuer: 'Mooring test', subject: 'Mooring test', publicKey, extensions, days };
  const lines = signCertificate(content, privateKey)
    .toString('base64')
    .match(/.{1,64}/g)!;
  return {
    cert: ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n'),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
}
