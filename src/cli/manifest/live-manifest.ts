import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Config } from '../../core/config.js';
import { readDocument } from '../../keys/manifests/signed-manifest.js';
import type { ManifestService } from '../../manifest/manifest.service.js';
import { callersPath, fileRefusal, Refused } from '../terminal/output.js';

const ANSWER_MS = 10_000;

/** A manifest document as it was found, unverified, and where. */
export interface Found {
  readonly document: unknown;
  readonly from: string;
}

/** The document of a file; `-` is standard input. */
export async function readManifestFile(file: string): Promise<unknown> {
  const name = file === '-' ? 'Standard input' : callersPath(file);
  const content = file === '-' ? text(process.stdin) : readFile(name, 'utf8');
  return parse(
    await content.catch((error: unknown) => {
      throw fileRefusal(name, error);
    }),
    name,
  );
}

/** The document that an address serves; null where a Mooring says that none is published. */
export async function fetchManifest(url: string): Promise<unknown> {
  const { ok, status, body } = await askWhole(url);
  if (ok) return parse(body, url);
  if (status === 404 && body.includes('"no_version_published"')) return null;
  throw new Refused(`${url} answered with status ${status}.`);
}

async function askWhole(url: string): Promise<{ ok: boolean; status: number; body: string }> {
  // Kept open, the connection would keep us running.
  const headers = { connection: 'close' };
  try {
    // Clients follow no redirect, so none brings anybody a manifest.
    const signal = AbortSignal.timeout(ANSWER_MS);
    const answer = await fetch(url, { headers, signal, redirect: 'manual' });
    return { ok: answer.ok, status: answer.status, body: await answer.text() };
  } catch {
    // An answer that breaks off is none.
    throw new Refused(`${url} does not answer.`);
  }
}

/** The live manifest: of `previous` where it is given, else of the public address, else of a database at hand. */
export async function findLive(previous: string | undefined, config: Config): Promise<Found> {
  if (previous !== undefined) {
    const isUrl = /^https?:\/\//.test(previous);
    const document = isUrl ? await fetchManifest(previous) : await readManifestFile(previous);
    if (document === null) throw new Refused(`Nothing is published at ${previous}: sign with --first.`);
    return { document, from: previous };
  }
  const url = `${config.publicUrl}/v1/manifest`;
  const isNamed = process.env['PUBLIC_URL'] !== undefined;
  // That a named address is out of order does not mean that nothing is live; only another that was named may say what is.
  const mayFail = !isNamed || config.databaseUrl !== undefined;
  const served = async () => ({
    document: await fetchManifest(url).catch((error: unknown) => {
      if (mayFail) return null;
      throw error;
    }),
    from: url,
  });
  const stored = async () => ({
    document: hasDatabase(config) ? await liveOfDatabase(config) : null,
    from: 'the database',
  });
  // Without a setting, the public address is but a guess, where some other service may well listen.
  for (const look of isNamed ? [served, stored] : [stored, served]) {
    const found = await look();
    if (found.document !== null) return found;
  }
  throw new Refused(
    `No live manifest was found at ${url} or in a database: name it with --previous, or sign with --first.`,
  );
}

/** The live manifest of the database as it is served, or null. */
export function liveOfDatabase(config?: Config): Promise<unknown> {
  return ofDatabase(async ({ live }) => live && (JSON.parse(live.body) as unknown), config);
}

/** The manifest that a withdrawal goes back to, as it was published; null where no database at hand has one. */
export async function beforeLiveOfDatabase(config: Config): Promise<unknown> {
  return hasDatabase(config) ? ofDatabase((manifests) => manifests.findWithdrawalTarget(), config) : null;
}

async function ofDatabase<T>(read: (manifests: ManifestService) => Promise<T>, config?: Config): Promise<T> {
  // Loaded here: a publisher's machine has none, and would wait for what asks one.
  const { manifestsOf, withDatabase } = await import('../database.js');
  return withDatabase(async (ground) => read(await manifestsOf(ground)), { config });
}

// A publisher's machine has none, and signing must not make one there.
function hasDatabase(config: Config): boolean {
  return config.databaseUrl !== undefined || existsSync(join(config.dataDir, 'postgres', 'PG_VERSION'));
}

function parse(body: string, name: string): unknown {
  try {
    const document = JSON.parse(body) as unknown;
    readDocument(document);
    return document;
  } catch {
    throw new Refused(`${name} is not a manifest.`);
  }
}
