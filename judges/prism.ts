import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Answer, Service } from '../test/support/harness.js';

const PRISM = fileURLToPath(new URL('node_modules/.bin/prism', import.meta.url));
export const DOCUMENT = fileURLToPath(new URL('../docs/openapi.yaml', import.meta.url));

export interface PrismOptions {
  readonly document?: string;
  /** Whether Prism also refuses requests that the document does not describe; otherwise it forwards them. */
  readonly validatesRequests: boolean;
}

/** A process of `prism proxy --errors`, which replaces an answer that the document does not describe by an error. */
export class Prism {
  static readonly #running = new Set<ChildProcess>();

  private constructor(readonly url: string) {}

  /** Starts Prism in front of an upstream server. */
  static async startInFrontOf(
    upstream: string,
    { document = DOCUMENT, validatesRequests }: PrismOptions,
  ): Promise<Prism> {
    const flags = ['--errors', `--validate-request=${validatesRequests}`, '--cors=false', '--port=0'];
    const child = spawn(process.execPath, [PRISM, 'proxy', document, upstream, ...flags], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    Prism.#running.add(child);
    let printed = '';
    child.stdout.setEncoding('utf8');
    for await (const text of child.stdout.iterator({ destroyOnReturn: false }) as AsyncIterable<string>) {
      printed += text;
      const [, url] = /Prism is listening on (http:\/\/127\.0\.0\.1:\d+)/.exec(printed) ?? [];
      if (!url) continue;
      child.stdout.resume();
      return new Prism(url);
    }
    throw new Error(`Prism ended: ${printed}`);
  }

  /** Ends all Prism processes, also those that failed to start. */
  static async closeAll(): Promise<void> {
    for (const child of Prism.#running) {
      const ended = once(child, 'exit');
      if (child.exitCode === null && child.kill()) await ended;
    }
    Prism.#running.clear();
  }
}

/** @returns Prism's objections to an answer, including warnings (such as an undocumented status), or undefined */
function findObjections(headers: Headers, text: string): string | undefined {
  const violations = headers.get('sl-violations') ?? undefined;
  return violations ?? (text.startsWith('{"type":"https://stoplight.io/prism/') ? text : undefined);
}

/** Counts the answers that Prism accepted, in all tests of a file. */
export const accepted = { answers: 0 };

/** Sends a request through Prism. @throws Error with Prism's objection */
export async function sendThrough(
  prism: Prism,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const isText = body === undefined || typeof body === 'string';
  const response = await fetch(prism.url + path, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    body: isText ? body : JSON.stringify(body),
  });
  const text = await response.text();
  const objection = findObjections(response.headers, text);
  if (objection) throw new Error(`${method} ${path} ${response.status}: ${objection}`);
  accepted.answers += 1;
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    // Prism joins several cookies in one header.
    cookies: response.headers.getSetCookie().flatMap((cookies) => cookies.split(/,(?=(?:__Host-)?mooring_)/)),
    text,
    json: isJson && text ? JSON.parse(text) : undefined,
  };
}

/** @returns an object like `service` whose requests go through Prism, for the helpers of the tests */
export function proxiedService(prism: Prism, service: Service): Service {
  const call: Service['call'] = (method, path, body, headers) =>
    sendThrough(prism, method, path, body, headers);
  return Object.create(service, { url: { value: prism.url }, call: { value: call } }) as Service;
}
