import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { ManifestEntry } from '../../keys/manifests/signed-manifest.js';
import { RESPONSE_TIMEOUTS_MS } from '../context/response-timeouts.js';
import { progressBar } from '../terminal/progress-bar.js';
import { CommandError } from '../terminal/output.js';
import { causeOf } from './request-faults.js';

const MAX_REDIRECTS = 5;
const REDIRECTS = [301, 302, 303, 307, 308];

/** Why an address does not serve the signed image, as the end of the sentence "The download address …". */
class WrongAddress extends Error {}

/**
 * Downloads a disk image, without storing it, and compares its size and digest with the signed ones, so that no manifest is
 * published whose download every client rejects.
 * @throws CommandError
 */
export async function checkImageAddress({ dmg }: Pick<ManifestEntry, 'dmg'>): Promise<void> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), RESPONSE_TIMEOUTS_MS.imageBytes);
  try {
    await compare(await open(dmg.url, abort.signal, timer), dmg, timer);
  } catch (error) {
    const fault = abort.signal.aborted
      ? `sent nothing for ${RESPONSE_TIMEOUTS_MS.imageBytes / 1000} seconds`
      : error instanceof WrongAddress
        ? error.message
        : `does not answer, or broke off (${causeOf(error)})`;
    throw new CommandError(
      `The download address ${dmg.url} ${fault}. Upload the signed file there, or skip this check with --no-fetch.`,
    );
  } finally {
    clearTimeout(timer);
    // Ends a download that was refused before its end.
    abort.abort();
  }
}

/** Requests an address. Redirects are followed, as the download of a client may do, but only to https. */
async function open(url: string, signal: AbortSignal, timer: NodeJS.Timeout): Promise<Response> {
  let address = new URL(url);
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    // The URL of an image is https already: no manifest with another one can be published.
    if (address.protocol !== 'https:') throw new WrongAddress('redirects to an address that is not https');
    // `identity`: a compressed response would have another length. A connection that stays open would keep the process running.
    const headers = { 'accept-encoding': 'identity', connection: 'close' };
    const response = await fetch(address, { headers, signal, redirect: 'manual' });
    timer.refresh();
    const location = REDIRECTS.includes(response.status) ? response.headers.get('location') : null;
    if (location === null) return response;
    await response.body?.cancel();
    address = new URL(location, address);
  }
  throw new WrongAddress(`redirects more than ${MAX_REDIRECTS} times`);
}

async function compare(
  { ok, status, headers, body }: Response,
  { url, size, sha256 }: ManifestEntry['dmg'],
  timer: NodeJS.Timeout,
): Promise<void> {
  if (!ok) throw new WrongAddress(`answered with status ${status}`);
  const announced = headers.has('content-encoding') ? null : headers.get('content-length');
  if (announced !== null && Number(announced) !== size) throw wrongSize(`${announced} bytes`, size);
  using showProgress = progressBar(basename(new URL(url).pathname));
  const digest = createHash('sha256');
  let done = 0;
  for await (const chunk of body ?? []) {
    timer.refresh();
    digest.update(chunk);
    if ((done += chunk.length) > size) throw wrongSize('more bytes', size);
    showProgress(done, size);
  }
  if (done !== size) throw wrongSize(`${done} bytes`, size);
  const found = digest.digest('hex');
  if (found !== sha256)
    throw new WrongAddress(`serves another file than the signed one: its SHA-256 is ${found}, not ${sha256}`);
}

const wrongSize = (found: string, size: number) =>
  new WrongAddress(`serves another file than the signed one: it has ${found}, not ${size} bytes`);
