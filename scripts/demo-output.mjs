// How the demo speaks: one line for what is sent, one for what comes back.
import { createServer } from 'node:net';
import { inspect } from 'node:util';

const color = (code, text) => (process.stdout.isTTY ? `\x1b[${code}m${text}\x1b[0m` : text);

export const say = (text) => console.log(text);
export const title = (text) => say(`\n${color(1, text)}`);

/** A fetch that prints the conversation, with long values cut. */
export function narrate(fetch, url) {
  return async (address, init) => {
    const path = address.slice(url.length);
    say(color(36, `→ ${init.method} ${path} ${short(init.body)}`));
    const answer = await fetch(address, init);
    say(color(answer.ok ? 32 : 33, `← ${answer.status} ${short(await answer.clone().text())}`));
    return answer;
  };
}

/** What a person reads of a body: long tokens and digests are cut, prose is not. */
function short(text) {
  if (!text) return '';
  const cut = (_name, value) =>
    typeof value === 'string' && /^\S{40,}$/.test(value) ? `${value.slice(0, 10)}…` : value;
  const { type: _type, title: _title, request_id: _id, ...body } = JSON.parse(text, cut);
  return inspect(body, { breakLength: Infinity, compact: true, depth: null });
}

/** Resolves, with all it has printed, when a stream has printed this. */
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

/** A port that is free at this moment. */
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
