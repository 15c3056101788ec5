import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { PROBLEMS, type ProblemCode } from '../../../src/http/problems/problem.js';
import { loopTime } from '../loop-time.js';

/** A response as it was received, before any library parsed it. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

type Part = string | Uint8Array | ((socket: Socket) => Promise<unknown>);

/**
 * If the server sends nothing for this time, it is assumed to wait for more bytes. The time is measured by `loopTime`, so that a
 * slow computer does not shorten it.
 */
const SILENCE_TIMEOUT_MS = 3_000;

/**
 * Writes parts to a socket, and reads until the server closes it, has sent `answers` responses, or sends nothing for a while. A
 * part that is a function is called when the parts before it have been written.
 */
export async function exchange(base: string, parts: readonly Part[], answers = 1): Promise<RawAnswer[]> {
  const socket = await open(base);
  const received: Buffer[] = [];
  const parseReceived = () => readAnswers(Buffer.concat(received).toString('latin1'));
  const over = new Promise<void>((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      received.push(chunk);
      if (parseReceived().length >= answers) resolve();
    });
    socket.on('close', () => resolve());
  });
  for (const part of parts) {
    if (typeof part === 'function') await part(socket);
    else if (!socket.destroyed) socket.write(part);
  }
  await Promise.race([over, waitForSilence(socket)]);
  socket.destroy();
  return parseReceived();
}

/** Waits until no bytes have arrived for `SILENCE_TIMEOUT_MS`, or the connection has ended. */
async function waitForSilence(socket: Socket): Promise<void> {
  let [bytes, since] = [-1, loopTime()];
  for (; loopTime() - since < SILENCE_TIMEOUT_MS && !socket.destroyed; await pause(20)) {
    if (bytes !== socket.bytesRead) [bytes, since] = [socket.bytesRead, loopTime()];
  }
}

export async function open(base: string): Promise<Socket> {
  const { hostname, port } = new URL(base);
  const socket = connect(Number(port), hostname);
  // The server may close the connection after bytes that it does not understand.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** The bytes of a request. `headers` are added to the required ones. */
export function request(method: string, path: string, body?: string | Buffer, headers = ''): Buffer {
  const json =
    body === undefined
      ? ''
      : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`;
  return Buffer.concat([
    Buffer.from(`${method} ${path} HTTP/1.1\r\nhost: localhost\r\n${json}${headers}\r\n`),
    Buffer.from(body ?? ''),
  ]);
}

/** Parses the complete responses in the received bytes, without interim ones (100 Continue). None of them may be chunked. */
function readAnswers(text: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let rest = text; ;) {
    const end = rest.indexOf('\r\n\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(rest)?.[1]);
    if (end < 0 || !status) return answers;
    const lines = rest.slice(0, end).split('\r\n').slice(1);
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    ) as Record<string, string>;
    const length = headers['content-length'] ? Number(headers['content-length']) : 0;
    if (rest.length < end + 4 + length) return answers;
    const body = Buffer.from(rest.slice(end + 4, end + 4 + length), 'latin1').toString('utf8');
    if (status >= 200) answers.push({ status, headers, body });
    rest = rest.slice(end + 4 + length);
  }
}

/**
 * Expects a problem with the status, title and client action that `PROBLEMS` has for its code. The status must be below 500.
 */
export function expectProblem(answer: RawAnswer, code?: ProblemCode): void {
  expect(answer).toMatchObject({
    headers: {
      'content-type': expect.stringMatching(/^application\/problem\+json\b/),
      'cache-control': 'no-store',
    },
  });
  expect(Object.keys(answer.headers)).not.toEqual(expect.arrayContaining(['server']));
  const document = JSON.parse(answer.body) as { code: ProblemCode };
  const { status, client_action, title } = PROBLEMS[document.code];
  expect(answer.status).toBe(status);
  expect(answer.status).toBeLessThan(500);
  expect(document).toMatchObject({
    type: expect.stringMatching(new RegExp(`^http://.*/docs/errors#${document.code}$`)),
    title,
    status,
    client_action,
    detail: expect.any(String),
    request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  if (code) expect(document.code).toBe(code);
}
