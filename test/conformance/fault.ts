import { randomUUID } from 'node:crypto';
import { CODES } from '../../conformance/problems.ts';
import type { Exchange, Fault } from './proxy.js';

/** A fault that a service could have, made anew for each run, and every check that it turns red. */
export type Broken = readonly [what: string, fault: () => Fault, ...red: string[]];

export type Which = (exchange: Exchange) => unknown;
// oxlint-disable-next-line no-explicit-any -- any answer of any shape
type Json = Record<string, any>;

/** Changes the JSON of these answers; what `change` returns, if anything, replaces it. */
export const rewrite =
  (which: Which, change: (json: Json, exchange: Exchange) => unknown) => (): Fault => (exchange) => {
    if (!/json/.test(String(exchange.headers['content-type'])) || exchange.body.length === 0) return;
    if (!which(exchange)) return;
    const json = JSON.parse(exchange.body.toString()) as Json;
    exchange.body = Buffer.from(JSON.stringify(change(json, exchange) ?? json));
  };

/** Sets headers of these answers, or removes them. */
export const header = (which: Which, change: Exchange['headers']) => (): Fault => (exchange) => {
  if (which(exchange)) Object.assign(exchange.headers, change);
};

/** Gives another answer in place of these, for one that forgets a rule. */
export const instead = (which: Which, status: number, json: object) => (): Fault => (exchange) => {
  if (!which(exchange)) return;
  exchange.headers['content-type'] = 'application/json';
  Object.assign(exchange, { status, body: Buffer.from(JSON.stringify(json)) });
};

/** Refuses these requests with a problem that is right in itself. */
export const refusing =
  (which: Which, code: string, more: object = {}) =>
  (): Fault =>
  (exchange) => {
    if (!which(exchange)) return;
    const [status, client_action] = CODES[code]!;
    const type = `https://elsewhere.example/docs/errors#${code}`;
    const document = { type, title: 'Refused', status, code, detail: 'No.', client_action, ...more };
    exchange.headers = { 'content-type': 'application/problem+json', 'cache-control': 'no-store' };
    exchange.status = status;
    exchange.body = Buffer.from(JSON.stringify({ ...document, request_id: randomUUID() }));
  };

/** Only the answers from one number to another, of those that `which` picks; counted anew in each run. */
export const ofNumber = (which: Which, first: number, last: number, fault: () => Fault) => (): Fault => {
  const broken = fault();
  let seen = 0;
  return (exchange) => {
    if (!which(exchange)) return;
    seen += 1;
    if (seen >= first && seen <= last) broken(exchange);
  };
};

/** The last good answer that `of` picks, in place of those that `which` picks. */
export const replaying = (of: Which, which: Which) => (): Fault => {
  let last: Pick<Exchange, 'status' | 'headers' | 'body'> | undefined;
  return (exchange) => {
    const { status, headers, body } = exchange;
    if (of(exchange)) last = { status, headers: { ...headers }, body };
    if (last && which(exchange)) Object.assign(exchange, { ...last, headers: { ...last.headers } });
  };
};

export const to =
  (path: string): Which =>
  (exchange) =>
    exchange.path.split('?')[0] === path;
export const activated: Which = ({ path, status }) => path === '/v1/activate' && status < 300;
export const beat: Which = ({ path, status }) => path === '/v1/heartbeat' && status === 200;
export const manifest: Which = (exchange) => to('/v1/manifest')(exchange) && exchange.status === 200;
/** The refusals with this code. */
export const coded =
  (code: string): Which =>
  ({ body }) =>
    body.includes(`"code":"${code}"`);
/** The refusals that name this member. */
export const naming =
  (pointer: string): Which =>
  ({ body }) =>
    body.includes(`"pointer":"${pointer}"`);
export const both =
  (one: Which, other: Which): Which =>
  (exchange) =>
    one(exchange) && other(exchange);
