import type { KeyObject } from 'node:crypto';
import type { Command } from 'commander';
import { ConfigError, type Config } from '../../core/config.js';
import { requireVerifiedCertificates } from '../../core/production-settings.js';
import { trustedManifestKeys } from '../../keys/key-material.js';
import { trustedKeys, verifyManifest, type ManifestContent } from '../../keys/manifests/signed-manifest.js';
import { RESPONSE_TIMEOUTS_MS } from '../context/response-timeouts.js';
import { auditContextOf, CommandError, UsageError } from '../terminal/output.js';
import { isPublicUrlSet } from './live-manifest.js';
import { causeOf, certificateFault } from './request-faults.js';
import { knownManifestKeys, publisherConfig } from './signing-keys.js';

/** The manifest that was live before, and the one that a publication makes live. */
interface Publication {
  readonly live: ManifestContent | null;
  readonly next: ManifestContent;
}

/** A way to publish: in the database, or over https. */
interface Publishing {
  readonly publicUrl: string;
  /** The keys that verify published manifests, by key_id. */
  readonly trusted: ReadonlyMap<string, KeyObject>;
  /** Makes the checks of `publish` without publishing. @throws Error as `publish` */
  check(document: unknown, isWithdrawal: boolean): Promise<Publication>;
  /** @throws Error with a message for the publisher if the manifest is refused or the service cannot be used */
  publish(document: unknown, isWithdrawal: boolean): Promise<unknown>;
}

/** Passes `work` the way to publish: with STAFF_TOKEN over https, otherwise in the database of the settings. */
export async function withPublishing(
  command: Command,
  work: (publishing: Publishing) => Promise<void>,
): Promise<void> {
  const config = publisherConfig();
  const { staffToken } = config;
  await (staffToken === undefined
    ? inDatabase(command, work)
    : work(await overHttps(command, staffToken, config)));
}

async function inDatabase(command: Command, work: (publishing: Publishing) => Promise<void>): Promise<void> {
  // These modules are loaded on demand, because a publisher's machine has no database and should not wait for them.
  const { loadManifestService, withDatabase } = await import('../context/command-context.js');
  // `work` also checks the public address, so the database stays open until that check has ended.
  await withDatabase(async (context) => {
    const trusted = await trustedManifestKeys(context.config);
    const manifests = await loadManifestService(context, trusted);
    await work({
      publicUrl: context.config.publicUrl,
      trusted,
      async check(document, isWithdrawal) {
        const next = await manifests.checkPublishable(document, isWithdrawal);
        return { live: manifests.live?.content ?? null, next };
      },
      publish: (document, isWithdrawal) => manifests.publish(document, auditContextOf(command), isWithdrawal),
    });
  });
}

/** Creates the way to publish over https. @throws UsageError if --as is given @throws ConfigError if a setting prevents it */
async function overHttps(command: Command, token: string, config: Config): Promise<Publishing> {
  if (command.optsWithGlobals<{ as?: string }>().as !== undefined)
    throw new UsageError('--as has no use with STAFF_TOKEN: the audit trail names the owner of the token.');
  requireSafeAddress(config);
  const keys = await knownManifestKeys(config);
  if (keys.length === 0)
    throw new ConfigError(
      'MANIFEST_PUBLIC_KEYS must be given, as on the server, to check what is published.',
    );
  const trusted = trustedKeys(keys);
  const send = async (document: unknown, query: Record<string, string>): Promise<Publication> => {
    // A wrong file is refused here, before it is sent.
    verifyManifest(document, trusted);
    return sendManifest(config.publicUrl, token, document, query);
  };
  return {
    publicUrl: config.publicUrl,
    trusted,
    check: (document, isWithdrawal) => send(document, { dry_run: 'true', withdraw: String(isWithdrawal) }),
    publish: (document, isWithdrawal) => send(document, { withdraw: String(isWithdrawal) }),
  };
}

/**
 * Refuses to send the token where others could read it (without TLS, or without verified certificates), or to the default of
 * PUBLIC_URL: on that port of this machine any program may listen. @throws ConfigError
 */
function requireSafeAddress({ publicUrl }: Config): void {
  if (!isPublicUrlSet())
    throw new ConfigError('With STAFF_TOKEN, PUBLIC_URL must be given: the token is sent there.');
  const { protocol, hostname } = new URL(publicUrl);
  if (protocol !== 'https:' && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname))
    throw new ConfigError(
      'With STAFF_TOKEN, PUBLIC_URL must be https, because the token can be read on the way otherwise.',
    );
  requireVerifiedCertificates(process.env['NODE_TLS_REJECT_UNAUTHORIZED']);
}

/** Sends `POST /support/api/manifests`. @throws CommandError with the sentence of the service, or about what is wrong */
async function sendManifest(
  publicUrl: string,
  token: string,
  document: unknown,
  query: Record<string, string>,
): Promise<Publication> {
  const url = `${publicUrl}/support/api/manifests`;
  const response = await fetch(`${url}?${new URLSearchParams(query)}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      connection: 'close',
    },
    body: JSON.stringify(document),
    redirect: 'manual',
    signal: AbortSignal.timeout(RESPONSE_TIMEOUTS_MS.publication),
  }).catch((error: unknown) => {
    throw new CommandError(
      certificateFault(url, error) ??
        `${url} does not answer (${causeOf(error)}). Check PUBLIC_URL, then publish again.`,
    );
  });
  const answer = (await response.json().catch(() => null)) as { code?: string; detail?: string } | null;
  if (response.ok && answer) return answer as Publication;
  if (response.status === 401)
    throw new CommandError(
      'STAFF_TOKEN is not valid (any more): create one with mooring staff token on the server.',
    );
  if (answer?.code === 'forbidden')
    throw new CommandError(
      'STAFF_TOKEN belongs to a person with the role support: publishing needs an admin.',
    );
  throw new CommandError(answer?.detail ?? `${url} answered with status ${response.status}.`);
}
