import { request as requestHttp, type IncomingMessage } from 'node:http';
import { Agent, request as requestHttps, type RequestOptions } from 'node:https';
import { Readable } from 'node:stream';
import type { Fetch } from './transport.js';
import { isLoopback } from './web-address.js';

/**
 * Makes each request over a connection and a TLS session of its own, so that a read of the manifest cannot be linked to a
 * heartbeat. The `fetch` of Node resumes an earlier TLS session, and from Node 26 on sends all requests over one HTTP/2 connection.
 *
 * It follows no redirect, has no cache and no cookies, and asks for no compression. It uses the proxy of the environment
 * (`HTTPS_PROXY`, `NO_PROXY`) from Node 22.21 and 24.5 on, except for a service on a loopback address.
 */
export const separateFetch: Fetch = async (url, { method, headers, body, signal }) => {
  try {
    const request = requestOf(new URL(url), { method, headers, signal } as RequestOptions);
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      // The listener remains, so that an error after the response does not end the process. The reader of the body gets the error.
      request.on('response', resolve).on('error', reject);
      // A protocol that was not asked for (status 101) ends the connection without an error.
      request.on('close', () => reject(new Error('no response')));
      request.end(body);
    });
    return {
      status: response.statusCode!,
      headers: headersOf(response),
      body: Readable.toWeb(response) as Response['body'],
    };
  } catch (cause) {
    throw new TypeError('fetch failed', { cause });
  }
};

function requestOf(url: URL, options: RequestOptions) {
  if (url.protocol === 'http:') return requestHttp(url, { ...options, agent: false });
  return requestHttps(url, { ...options, agent: separateAgent(url, options.signal) });
}

/** A new agent has no TLS session to resume, and reads the environment again. */
function separateAgent(url: URL, signal: AbortSignal | undefined): Agent {
  const agent = new Agent(isLoopback(url) ? {} : { proxyEnv: proxyOfEnvironment() });
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (...given) => {
    const socket = connect(...given);
    // Until a proxy has connected to the service, Node handles neither an error of the connection to the proxy nor the abort.
    socket?.on('error', () => {});
    signal?.addEventListener('abort', () => socket?.destroy(new Error('aborted')));
    return socket;
  };
  return agent;
}

/** Adds the scheme to a proxy that is named without one, such as `proxy:8080`: Node would connect without that proxy. */
function proxyOfEnvironment() {
  const { https_proxy, HTTPS_PROXY, no_proxy, NO_PROXY } = process.env;
  const proxy = https_proxy || HTTPS_PROXY;
  const isWithScheme = !proxy || proxy.includes('://');
  return { https_proxy: isWithScheme ? proxy : `http://${proxy}`, no_proxy: no_proxy || NO_PROXY };
}

function headersOf({ headersDistinct }: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(headersDistinct))
    for (const value of values) headers.append(name, value);
  return headers;
}
