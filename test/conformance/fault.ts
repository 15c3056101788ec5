import { randomUUID } from 'node:crypto';
import { CODES } from '../../conformance/problems.ts';
import type { Exchange, Fault } from './proxy.js';

/** A fault that a service could have, created anew for each run, and the titles of all checks that then fail. */
export type FaultCase = readonly [what: string, fault: () => Fault, ...red: string[]];

export type ExchangeFilter = (exchange: Exchange) => unknown;
// oxlint-disable-next-line no-explicit-any -- any answer of any shape
type Json = Record<string, any>;

/** Changes the JSON of these answers; what `change` returns, if anything, replaces it. */
export const rewrite =
  (which: ExchangeFilter, change: (json: Json, exchange: Exchange) => unknown) => (): Fault => (exchange) => {
    if (!/json/.test(String(exchange.headers['content-type'])) || exchange.body.length === 0) return;
    if (!which(exchange)) return;
    const json = JSON.parse(exchange.body.toString()) as Json;
    exchange.body = Buffer.from(JSON.stringify(change(json, exchange) ?? json));
  };

/** Sets headers of these answers, or removes them. */
export const header = (which: ExchangeFilter, change: Exchange['headers']) => (): Fault => (exchange) => {
  if (which(exchange)) Object.assign(exchange.headers, change);
};

/** Replaces these answers by another one. */
export const instead = (which: ExchangeFilter, status: number, json: object) => (): Fault => (exchange) => {
  if (!which(exchange)) return;
  exchange.headers['content-type'] = 'application/json';
  Object.assign(exchange, { status, body: Buffer.from(JSON.stringify(json)) });
};

/** Refuses these requests with a valid problem. */
export const refusing =
  (which: ExchangeFilter, code: string, more: object = {}) =>
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

/** Applies a fault only to some of the answers that `which` selects, by their number in each run. */
export const onlyNumbers =
  (which: ExchangeFilter, first: number, last: number, fault: () => Fault) => (): Fault => {
    const broken = fault();
    let seen = 0;
    return (exchange) => {
      if (!which(exchange)) return;
      seen += 1;
      if (seen >= first && seen <= last) broken(exchange);
    };
  };

/** Replaces the answers that `which` selects by the last one that `of` selects. */
export const replaying = (of: ExchangeFilter, which: ExchangeFilter) => (): Fault => {
  let last: Pick<Exchange, 'status' | 'headers' | 'body'> | undefined;
  return (exchange) => {
    const { status, headers, body } = exchange;
    if (of(exchange)) last = { status, headers: { ...headers }, body };
    if (last && which(exchange)) Object.assign(exchange, { ...last, headers: { ...last.headers } });
  };
};

export const to =
  (path: string): ExchangeFilter =>
  (exchange) =>
    exchange.path.split('?')[0] === path;
export const activationConfirmed: ExchangeFilter = ({ path, status }) =>
  path === '/v1/activate' && status < 300;
export const heartbeatConfirmed: ExchangeFilter = ({ path, status }) =>
  path === '/v1/heartbeat' && status === 200;
export const manifest: ExchangeFilter = (exchange) => to('/v1/manifest')(exchange) && exchange.status === 200;
/** The refusals with this code. */
export const withCode =
  (code: string): ExchangeFilter =>
  ({ body }) =>
    body.includes(`"code":"${code}"`);
/** The refusals that list this member. */
export const withPointer =
  (pointer: string): ExchangeFilter =>
  ({ body }) =>
    body.includes(`"pointer":"${pointer}"`);
export const and =
  (one: ExchangeFilter, other: ExchangeFilter): ExchangeFilter =>
  (exchange) =>
    one(exchange) && other(exchange);
