import { createHash, verify } from 'node:crypto';
import { parseObject } from './json.js';
import type { TrustedKey } from './manifest-signature.js';
import type { StoredLicense } from './state.js';
import { formatTime } from './time.js';

/** The claims of a token that the client reads; only the service reads the others. Times are Unix seconds. */
export interface TokenClaims {
  /** The digest of the machine that the token was issued for, see `machineDigest`. */
  mch: string;
  iat: number;
  exp: number;
}

/** What the client reads of its token (docs/clients.md#what-a-client-reads-of-its-token). */
export interface TokenReading {
  /** Undefined if this client does not know the format of the token. The token is stored and sent back nevertheless. */
  claims: TokenClaims | undefined;
  /**
   * False if the application ships token keys and the token fails the checks of `readToken` with them. The application
   * then runs only after a confirmation.
   */
  isBelievable: boolean;
  /**
   * The last moment of an offline start: the earliest of `offline_until`, `exp`, and 7 days after `iat`. Without
   * `claims` it is `offline_until` alone. RFC 3339.
   */
  offline_until: string;
}

/** The longest time from the issue of a token to a restart without the network, whatever `offline_until` the state file has. */
const MAX_OFFLINE_SECONDS = 7 * 86_400;
/** The end of the year 9999: no later time has an RFC 3339 form. */
const MAX_TIME_SECONDS = 253_402_300_799;
const COMPACT_JWS = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/;
/** 64 bytes in canonical base64url: the unused bits of the last character are 0. */
const SIGNATURE = /^[A-Za-z0-9_-]{85}[AQgw]$/;

/**
 * Reads the token of a stored license, a compact JWS. Never throws.
 * @param tokenKeys the token keys shipped with the application. If there are any, a token that has no readable claims or `kid`, or
 * a wrong signature, is not believable. A token with an unknown `kid` is believable if its `exp` is after its `iat`, by at most
 * 7 days, because the service may have rotated its keys.
 */
export function readToken(
  { token, offline_until }: Pick<StoredLicense, 'token' | 'offline_until'>,
  tokenKeys: readonly TrustedKey[],
): TokenReading {
  const [, header = '', payload = '', signature = ''] = COMPACT_JWS.exec(token) ?? [];
  const kid = decoded(header)?.['kid'];
  const claims = claimsOf(decoded(payload));
  if (typeof kid !== 'string' || !claims)
    return { claims: undefined, isBelievable: tokenKeys.length === 0, offline_until };
  const trusted = tokenKeys.find(({ key_id }) => key_id === kid);
  const isBelievable = trusted
    ? isSignedBy(trusted, `${header}.${payload}`, signature)
    : tokenKeys.length === 0 || hasTimesOfTheService(claims);
  const end = Math.min(claims.exp, claims.iat + MAX_OFFLINE_SECONDS) * 1000;
  const isEarlier = end < Date.parse(offline_until);
  return { claims, isBelievable, offline_until: isEarlier ? formatTime(end) : offline_until };
}

/** Reads tokens with the keys shipped with the application, and compares their machine with this one. */
export class TokenReader {
  /** The digest of this machine's id. It is read once, because it does not change while the process runs. */
  #machine: string | undefined;
  readonly #keys: readonly TrustedKey[];
  readonly #machineId: () => Promise<string>;

  constructor(keys: readonly TrustedKey[], machineId: () => Promise<string>) {
    this.#keys = keys;
    this.#machineId = machineId;
  }

  read(license: Pick<StoredLicense, 'token' | 'offline_until'>): TokenReading {
    return readToken(license, this.#keys);
  }

  /** The `mch` claim of a token of this machine; undefined if its machine id cannot be read. */
  async thisMachine(): Promise<string | undefined> {
    try {
      return (this.#machine ??= machineDigest(await this.#machineId()));
    } catch {
      return undefined;
    }
  }

  /** False also if the machine of the token or the id of this computer cannot be read: this must not stop the application. */
  async isOfAnotherMachine(license: StoredLicense): Promise<boolean> {
    const { claims } = this.read(license);
    if (!claims) return false;
    const mch = await this.thisMachine();
    return mch !== undefined && claims.mch !== mch;
  }
}

/** The `mch` claim of a `machine_id` in hex. */
export function machineDigest(machine_id: string): string {
  const bytes = Buffer.concat([Buffer.from('mooring machine v1\0'), Buffer.from(machine_id, 'hex')]);
  return createHash('sha256').update(bytes).digest().subarray(0, 16).toString('base64url');
}

function isSignedBy({ key }: TrustedKey, input: string, signature: string): boolean {
  return (
    SIGNATURE.test(signature) && verify(null, Buffer.from(input), key, Buffer.from(signature, 'base64url'))
  );
}

function decoded(segment: string): Record<string, unknown> | undefined {
  return parseObject(Buffer.from(segment, 'base64url').toString());
}

function claimsOf(payload: Record<string, unknown> | undefined): TokenClaims | undefined {
  const { mch, iat, exp } = payload ?? {};
  return typeof mch === 'string' && isTime(iat) && isTime(exp) ? { mch, iat, exp } : undefined;
}

/** Whether the service can have signed these times: it signs a token for 7 days at most. */
function hasTimesOfTheService({ iat, exp }: TokenClaims): boolean {
  return iat < exp && exp <= iat + MAX_OFFLINE_SECONDS;
}

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_TIME_SECONDS;
}
