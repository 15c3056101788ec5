import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { ConfigError, type Config } from '../../core/config.js';
import { readDocument } from '../../keys/manifests/signed-manifest.js';
import type { ManifestService } from '../../manifest/manifest.service.js';
import { hasDatabase } from '../context/has-database.js';
import { RESPONSE_TIMEOUTS_MS } from '../context/response-timeouts.js';
import { explainFileError, resolveFromCallerFolder } from '../terminal/files.js';
import { CommandError } from '../terminal/output.js';
import { certificateFault } from './request-faults.js';
import { publisherConfig } from './signing-keys.js';

/** A manifest document that is not verified yet. */
export interface FoundManifest {
  readonly document: unknown;
  /** The source of the document, as text for messages. */
  readonly from: string;
}

/** Reads the document in a file; `-` is standard input. */
export async function readManifestFile(file: string): Promise<unknown> {
  const name = file === '-' ? 'Standard input' : resolveFromCallerFolder(file);
  const content = file === '-' ? text(process.stdin) : readFile(name, 'utf8');
  return parse(await explainFileError(name, content), name);
}

/** Reads the document in a file or at a URL; null if the server at the URL answers that no manifest is published. */
export function readDocumentAt(fileOrUrl: string): Promise<unknown> {
  return /^https?:\/\//.test(fileOrUrl) ? fetchManifest(fileOrUrl) : readManifestFile(fileOrUrl);
}

/** Fetches the document at a URL; null if the server answers that no manifest is published. */
export async function fetchManifest(url: string): Promise<unknown> {
  const { ok, status, body } = await fetchText(url);
  if (ok) return parse(body, url);
  if (status === 404 && body.includes('"no_version_published"')) return null;
  throw new CommandError(`${url} answered with status ${status}.`);
}

/** Fetches the text at a URL, without following redirects. @throws CommandError without a complete answer */
export async function fetchText(url: string): Promise<{ ok: boolean; status: number; body: string }> {
  // A connection that stays open would keep the process running.
  const headers = { connection: 'close' };
  let response: Response;
  try {
    // Redirects are not followed, because clients do not follow them either.
    const signal = AbortSignal.timeout(RESPONSE_TIMEOUTS_MS.manifest);
    response = await fetch(url, { headers, signal, redirect: 'manual' });
  } catch (error) {
    throw new CommandError(certificateFault(url, error) ?? `${url} does not answer.`);
  }
  const body = await response.text().catch(() => {
    throw new CommandError(`${url} sent an incomplete answer.`);
  });
  return { ok: response.ok, status: response.status, body };
}

/** Whether PUBLIC_URL is set. As in `Config`, an empty setting counts as unset. */
export const isPublicUrlSet = () => Boolean(process.env['PUBLIC_URL']?.trim());

/**
 * Returns the address of the live manifest. The default of PUBLIC_URL is not used: any program may listen there.
 * @throws ConfigError
 */
function liveAddress({ publicUrl }: Config): string {
  if (isPublicUrlSet()) return `${publicUrl}/v1/manifest`;
  throw new ConfigError('PUBLIC_URL must be given: the live manifest is read from there.');
}

/**
 * Finds the live manifest: in the file or at the URL `previous` if it is given, else at PUBLIC_URL, else in the database.
 * @throws CommandError if no manifest is found @throws ConfigError if there is neither PUBLIC_URL nor a database
 */
export async function findLive(previous: string | undefined, config: Config): Promise<FoundManifest> {
  if (previous !== undefined) {
    const document = await readDocumentAt(previous);
    if (document === null) throw new CommandError(`Nothing is published at ${previous}: sign with --first.`);
    return { document, from: previous };
  }
  const canReadDatabase = hasDatabase(config);
  const url = canReadDatabase && !isPublicUrlSet() ? null : liveAddress(config);
  if (url !== null) {
    const document = await fetchManifest(url).catch((error: unknown) => {
      // With DATABASE_URL the manifest is then read from that database. An embedded one may not belong to the service at
      // PUBLIC_URL, where another manifest may be live, so without DATABASE_URL a failure of the address is an error.
      if (canReadDatabase && config.databaseUrl !== undefined) return null;
      throw error;
    });
    if (document !== null) return { document, from: url };
  }
  const document = canReadDatabase ? await readStoredManifest(config) : null;
  if (document !== null) return { document, from: 'the database' };
  throw new CommandError(
    `No live manifest was found ${url === null ? '' : `at ${url} or `}in a database. Give its file or URL with --previous, or sign the first manifest with --first.`,
  );
}

/**
 * Reads the live manifest from the database, or from PUBLIC_URL if there is no database (`findLive` asks PUBLIC_URL first); null if
 * no manifest is live.
 * @throws ConfigError
 */
export async function readLiveManifest(): Promise<unknown> {
  const config = publisherConfig();
  return hasDatabase(config) ? readStoredManifest(config) : fetchManifest(liveAddress(config));
}

/** Reads the live manifest, as it is served, from the database; null if there is none. */
function readStoredManifest(config: Config): Promise<unknown> {
  return withManifests(config, async ({ live }) => live && (JSON.parse(live.body) as unknown));
}

/** Reads the manifest to which a withdrawal goes back, as it was published; null if there is no database or no such manifest. */
export async function readWithdrawalTarget(config: Config): Promise<unknown> {
  return hasDatabase(config) ? withManifests(config, (manifests) => manifests.findWithdrawalTarget()) : null;
}

async function withManifests<T>(
  config: Config,
  read: (manifests: ManifestService) => Promise<T>,
): Promise<T> {
  // These modules are loaded on demand, because a publisher's machine has no database and should not wait for them.
  const { loadManifestService, withDatabase } = await import('../context/command-context.js');
  return withDatabase(async (context) => read(await loadManifestService(context)), { config });
}

/** Parses a manifest document. @throws CommandError if the text is not a manifest */
function parse(body: string, name: string): unknown {
  try {
    const document = JSON.parse(body) as unknown;
    readDocument(document);
    return document;
  } catch {
    throw new CommandError(`${name} is not a manifest.`);
  }
}
