// Output of the demo: one line for each request and one for its answer.
import { createServer } from 'node:net';
import { inspect } from 'node:util';

const color = (code, text) => (process.stdout.isTTY ? `\x1b[${code}m${text}\x1b[0m` : text);

export const say = (text) => console.log(text);
export const title = (text) => say(`\n${color(1, text)}`);

/** Wraps `fetch` to print requests and answers, with long values shortened. */
export function narrate(fetch, url) {
  return async (address, init) => {
    const path = address.slice(url.length);
    say(color(36, `→ ${init.method} ${path} ${short(init.body)}`));
    const answer = await fetch(address, init);
    say(color(answer.ok ? 32 : 33, `← ${answer.status} ${short(await answer.clone().text())}`));
    return answer;
  };
}

/** Formats a body: long tokens and digests are shortened, sentences are not. */
function short(text) {
  if (!text) return '';
  const cut = (_name, value) =>
    typeof value === 'string' && /^\S{40,}$/.test(value) ? `${value.slice(0, 10)}…` : value;
  const { type: _type, title: _title, request_id: _id, ...body } = JSON.parse(text, cut);
  return inspect(body, { breakLength: Infinity, compact: true, depth: null });
}

/** Waits until a stream has printed this text. @returns everything printed so far */
export function printed(stream, words) {
  return new Promise((resolve, reject) => {
    let seen = '';
    stream.setEncoding('utf8').on('data', (text) => {
      seen += text;
      if (seen.includes(words)) resolve(seen);
    });
    stream.once('end', () => reject(new Error(seen || 'The service did not start.')));
  });
}

/** @returns a port that is free at the moment */
export function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
