import { randomUUID } from 'node:crypto';
import { CODES } from '../../conformance/problems.ts';
import type { Exchange, Fault } from './faulty-service.js';

/** What a faulty service does, a function that creates the fault, and the titles of all checks that then fail. */
export type FaultCase = readonly [what: string, createFault: () => Fault, ...failingTitles: string[]];

/** Selects the exchanges that a fault changes. */
export type ExchangeFilter = (exchange: Exchange) => unknown;
// oxlint-disable-next-line no-explicit-any -- any answer of any shape
type Json = Record<string, any>;

/** Changes the JSON of the selected answers, in place or by the value that `change` returns. */
export const changeJson =
  (filter: ExchangeFilter, change: (json: Json, exchange: Exchange) => unknown) =>
  (): Fault =>
  (exchange) => {
    if (!/json/.test(String(exchange.headers['content-type'])) || exchange.body.length === 0) return;
    if (!filter(exchange)) return;
    const json = JSON.parse(exchange.body.toString()) as Json;
    exchange.body = Buffer.from(JSON.stringify(change(json, exchange) ?? json));
  };

/** Sets headers of the selected answers, or removes them if they are undefined. */
export const setHeaders =
  (filter: ExchangeFilter, change: Exchange['headers']) => (): Fault => (exchange) => {
    if (filter(exchange)) Object.assign(exchange.headers, change);
  };

/** Replaces the selected answers by this one. */
export const replaceAnswer =
  (filter: ExchangeFilter, status: number, json: object) => (): Fault => (exchange) => {
    if (!filter(exchange)) return;
    exchange.headers['content-type'] = 'application/json';
    Object.assign(exchange, { status, body: Buffer.from(JSON.stringify(json)) });
  };

/** Refuses the selected requests with a valid problem. */
export const refuse =
  (filter: ExchangeFilter, code: string, more: object = {}) =>
  (): Fault =>
  (exchange) => {
    if (!filter(exchange)) return;
    const [status, client_action] = CODES[code]!;
    const type = `https://elsewhere.example/docs/errors#${code}`;
    const document = { type, title: 'Refused', status, code, detail: 'No.', client_action, ...more };
    const { date } = exchange.headers;
    exchange.headers = { 'content-type': 'application/problem+json', 'cache-control': 'no-store', date };
    exchange.status = status;
    exchange.body = Buffer.from(JSON.stringify({ ...document, request_id: randomUUID() }));
  };

/** Applies a fault only to the selected answers with the numbers `first` to `last`, counted from 1. */
export const onlyAnswersNumbered =
  (filter: ExchangeFilter, first: number, last: number, fault: () => Fault) => (): Fault => {
    const applyFault = fault();
    let count = 0;
    return (exchange) => {
      if (!filter(exchange)) return;
      count += 1;
      if (count >= first && count <= last) applyFault(exchange);
    };
  };

/** Replaces each answer that `replaced` selects by the latest one that `source` selects. */
export const replay = (source: ExchangeFilter, replaced: ExchangeFilter) => (): Fault => {
  let last: Pick<Exchange, 'status' | 'headers' | 'body'> | undefined;
  return (exchange) => {
    const { status, headers, body } = exchange;
    if (source(exchange)) last = { status, headers: { ...headers }, body };
    if (last && replaced(exchange)) Object.assign(exchange, { ...last, headers: { ...last.headers } });
  };
};

/** The requests to this path, with or without a query string. */
export const requestTo =
  (path: string): ExchangeFilter =>
  (exchange) =>
    exchange.path.split('?')[0] === path;
export const activationConfirmed: ExchangeFilter = ({ path, status }) =>
  path === '/v1/activate' && status < 300;
export const heartbeatConfirmed: ExchangeFilter = ({ path, status }) =>
  path === '/v1/heartbeat' && status === 200;
export const manifestAnswered: ExchangeFilter = (exchange) =>
  requestTo('/v1/manifest')(exchange) && exchange.status === 200;
/** The refusals with this code. */
export const withCode =
  (code: string): ExchangeFilter =>
  ({ body }) =>
    body.includes(`"code":"${code}"`);
/** The refusals that list the member at this JSON pointer. */
export const withPointer =
  (pointer: string): ExchangeFilter =>
  ({ body }) =>
    body.includes(`"pointer":"${pointer}"`);
export const both =
  (one: ExchangeFilter, other: ExchangeFilter): ExchangeFilter =>
  (exchange) =>
    one(exchange) && other(exchange);
