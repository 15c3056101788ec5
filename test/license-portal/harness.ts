import { outbox, until } from '../erasure/harness.js';
import type { Answer, Service } from '../support/harness.js';
import { documentedAnswers, seenAnswers } from '../support/http/openapi.js';
import { whileGone, whileLocked } from '../support/tables.js';
import { ORIGIN, CookieClient } from '../support/http/cookie-client.js';

export const PORTAL = '/portal/api';
const CODE_MAIL = /^Your code to sign in to /;

/** A holder's browser. */
export class Browser extends CookieClient {
  constructor(service: Service, origin = ORIGIN) {
    super(service, PORTAL, origin);
  }

  /** Requests a sign-in code. @returns the mailed code */
  async ask(email: string): Promise<string> {
    return codeAfter(this.service, email, async () => {
      const { status } = await this.call('POST', '/session/code', { email });
      if (status !== 202) throw new Error(`the request of a code was answered with ${status}`);
    });
  }

  async byCode(email: string): Promise<this> {
    const { status } = await this.call('POST', '/session', { email, code: await this.ask(email) });
    if (status !== 204) throw new Error(`signing in with a code was answered with ${status}`);
    return this;
  }

  async byKey({ email, license_key }: { email: string; license_key: string }): Promise<this> {
    const { status } = await this.call('POST', '/session', { email, license_key });
    if (status !== 204) throw new Error(`signing in with a key was answered with ${status}`);
    return this;
  }
}

/** The sign-in codes that were mailed to an address. */
export async function codesOf(service: Service, email: string): Promise<string[]> {
  const mails = (await outbox(service)).filter((mail) => mail.to === email && CODE_MAIL.test(mail.subject));
  return mails.map(({ text }) => /^ {4}(\d{8})$/m.exec(text)![1]!);
}

/** Calls `ask` and waits for a new code. */
export async function codeAfter(
  service: Service,
  email: string,
  ask: () => Promise<unknown>,
): Promise<string> {
  const before = await codesOf(service, email);
  await ask();
  const newCodes = async () => (await codesOf(service, email)).filter((code) => !before.includes(code));
  await until(async () => (await newCodes()).length > 0);
  return (await newCodes())[0]!;
}

/** A code that differs from this one in its last digit. */
export function wrong(code: string): string {
  return code.slice(0, -1) + String((Number(code.at(-1)) + 1) % 10);
}

/** An answer without its request id and its times. */
export function withoutIds({ status, text, headers }: Answer): unknown {
  const { date: _date, ...rest } = headers;
  return { status, text: text.replace(/"request_id":"[^"]*"/, ''), headers: rest };
}

interface Write {
  readonly method?: string;
  readonly path: string;
  readonly body?: unknown;
  /** The table that the request needs, which is renamed or locked. */
  readonly table?: string;
}

/** The refusals that all writes have in common: other origin, malformed, too large, wrong type, missing table, locked table. */
export async function commonRefusals(
  browser: Browser,
  { method = 'POST', path, body, table = 'session' }: Write,
): Promise<[number, string][]> {
  const send = (sent: unknown, headers: Record<string, string> = {}) =>
    browser.call(method, path, sent, headers);
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

export const COMMON_REFUSALS = [
  [403, 'cross_origin'],
  [400, 'malformed_request'],
  [413, 'body_too_large'],
  [415, 'unsupported_media_type'],
  [500, 'internal_error'],
  [503, 'unavailable'],
];

/** The documented responses of these routes that no test of this file has received. */
export function unseen(routes: RegExp): string[] {
  const documented = documentedAnswers().filter((answer) => routes.test(answer));
  if (documented.length === 0) throw new Error('no such route is documented');
  return documented.filter((answer) => !seenAnswers().has(answer));
}
