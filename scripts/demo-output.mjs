// Prints the requests and answers of the demo.
import { inspect } from 'node:util';

const color = (code, text) => (process.stdout.isTTY ? `\x1b[${code}m${text}\x1b[0m` : text);

export const print = (text) => console.log(text);
export const printTitle = (text) => print(`\n${color(1, text)}`);

/** Returns a `fetch` that also prints each request and its answer, with long values shortened. */
export function withRequestLog(fetch, url) {
  return async (address, init) => {
    const path = address.slice(url.length);
    print(color(36, `→ ${init.method} ${path} ${formatBody(init.body)}`.trimEnd()));
    const answer = await fetch(address, init);
    print(color(answer.ok ? 32 : 33, `← ${answer.status} ${formatBody(await answer.clone().text())}`));
    return answer;
  };
}

/** Formats a JSON body without `type`, `title` and `request_id`. Long tokens and digests are shortened, sentences are not. */
function formatBody(text) {
  if (!text) return '';
  const shorten = (_name, value) =>
    typeof value === 'string' && /^\S{40,}$/.test(value) ? `${value.slice(0, 10)}…` : value;
  const { type: _type, title: _title, request_id: _id, ...body } = JSON.parse(text, shorten);
  return inspect(body, { breakLength: Infinity, compact: true, depth: null });
}
