import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { Sessions } from '../../src/http/sessions/sessions.js';
import { outbox } from '../erasure/harness.js';
import { until } from '../support/until.js';
import type { Answer, Service } from '../support/harness.js';
import { whileGone, whileLocked } from '../support/tables.js';
import { ORIGIN, CookieClient } from '../support/http/cookie-client.js';

export const PORTAL = '/portal/api';
/** In each language the subject begins with the digits. */
const CODE_MAIL = /^\d{4} \d{4} /;

/** A holder's browser. */
export class Browser extends CookieClient {
  constructor(service: Service, origin = ORIGIN) {
    super(service, PORTAL, origin);
  }

  /** Requests a sign-in code. @returns the mailed code */
  async requestCode(email: string): Promise<string> {
    return codeAfter(this.service, email, async () => {
      const { status } = await this.call('POST', '/session/code', { email });
      if (status !== 202) throw new Error(`the request of a code was answered with ${status}`);
    });
  }

  /** Requests a code, and signs in with it. */
  async signInByCode(email: string): Promise<this> {
    const { status } = await this.call('POST', '/session', { email, code: await this.requestCode(email) });
    if (status !== 204) throw new Error(`signing in with a code was answered with ${status}`);
    return this;
  }

  /** Begins a session as a sign-in with a mailed code does, without the mail. */
  async beginSession(email: string): Promise<this> {
    const { app } = this.service;
    const replaced = this.cookies.get('mooring_holder');
    const token = await app.get(Sessions).begin(app.get(DataSource).manager, { email }, replaced);
    this.cookies.set('mooring_holder', token);
    return this;
  }

  async signInByKey({ email, license_key }: { email: string; license_key: string }): Promise<this> {
    const { status } = await this.call('POST', '/session', { email, license_key });
    if (status !== 204) throw new Error(`signing in with a key was answered with ${status}`);
    return this;
  }
}

/** The sign-in codes that were mailed to an address. */
export async function mailedCodes(service: Service, email: string): Promise<string[]> {
  const mails = (await outbox(service)).filter((mail) => mail.to === email && CODE_MAIL.test(mail.subject));
  return mails.map(({ text }) => /^ {4}(\d{4} \d{4})$/m.exec(text)![1]!.replace(' ', ''));
}

/** Calls `requestCode` and waits until a new code is mailed to the address. @returns the code */
export async function codeAfter(
  service: Service,
  email: string,
  requestCode: () => Promise<unknown>,
): Promise<string> {
  const before = await mailedCodes(service, email);
  await requestCode();
  let newCode: string | undefined;
  let mails = 0;
  await until(async () => {
    // The mails are read again only when there is another one.
    const count = await countMails(service);
    if (count === mails) return false;
    mails = count;
    newCode = (await mailedCodes(service, email)).find((code) => !before.includes(code));
    return newCode !== undefined;
  });
  return newCode!;
}

async function countMails({ dataDir }: Service): Promise<number> {
  const names = await readdir(join(dataDir, 'outbox')).catch(() => []);
  return names.filter((name) => name.endsWith('.eml')).length;
}

/** A code that differs from this one in its last digit. */
export function wrongCode(code: string): string {
  return code.slice(0, -1) + String((Number(code.at(-1)) + 1) % 10);
}

/** Returns an answer without its request id and its `date` header, so that two answers can be compared. */
export function withoutIdAndDate({ status, text, headers }: Answer): unknown {
  const { date: _date, ...rest } = headers;
  return { status, text: text.replace(/"request_id":"[^"]*"/, ''), headers: rest };
}

interface Write {
  readonly method?: string;
  readonly path: string;
  readonly body?: unknown;
  /** A table that the request needs: it is renamed for the 500 and locked for the 503. */
  readonly table?: string;
}

/**
 * Sends a write with each fault that all writes refuse alike: another origin, a malformed body, a body that is too large, a
 * wrong media type, a missing table, a locked table. @returns the status and code of each response, as in COMMON_REFUSALS
 */
export async function commonRefusals(
  browser: Browser,
  { method = 'POST', path, body, table = 'session' }: Write,
): Promise<[number, string][]> {
  const send = (content: unknown, headers: Record<string, string> = {}) =>
    browser.call(method, path, content, headers);
  const answers = [
    await send(body, { origin: 'https://evil.example' }),
    await send('{'),
    await send(JSON.stringify({ more: 'x'.repeat(20_000) })),
    await send('{}', { 'content-type': 'text/plain' }),
    await whileGone(browser.service, table, () => send(body)),
    await whileLocked(browser.service, table, () => send(body)),
  ];
  return answers.map(({ status, json }) => [status, json.code]);
}

/** What `commonRefusals` returns for a write that refuses each fault as documented. */
export const COMMON_REFUSALS = [
  [403, 'cross_origin'],
  [400, 'malformed_request'],
  [413, 'body_too_large'],
  [415, 'unsupported_media_type'],
  [500, 'internal_error'],
  [503, 'unavailable'],
];
