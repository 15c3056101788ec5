/* Hostile HTTP requests, as bytes. Each name says what the request tries. */

/** The path of a second request that is hidden in the first one. A response to it would show that request smuggling is possible. */
export const MARKER = '/v1/smuggled-request';

const crlf = (...lines: string[]) => `${lines.join('\r\n')}\r\n\r\n`;
const HIDDEN = crlf(`GET ${MARKER} HTTP/1.1`, 'host: x');
const post = (...headers: string[]) =>
  crlf('POST /v1/activate HTTP/1.1', 'host: x', 'content-type: application/json', ...headers);
const get = (target: string, ...headers: string[]) => crlf(`GET ${target} HTTP/1.1`, 'host: x', ...headers);
const chunks = (body: string) => post('transfer-encoding: chunked') + body;

/**
 * Requests in which an intermediary and a server may find different ends of the body: one of the two takes the hidden request, or
 * a part of it, for the body. A server that answers the hidden request has read too short a body.
 */
export const SMUGGLING_REQUESTS: Readonly<Record<string, string>> = {
  'length and chunked, the length longer': `${post(`content-length: ${5 + HIDDEN.length}`, 'transfer-encoding: chunked')}0\r\n\r\n${HIDDEN}`,
  'chunked and length, the length shorter': `${post('transfer-encoding: chunked', 'content-length: 4')}${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n`,
  'two lengths': `${post('content-length: 2', `content-length: ${2 + HIDDEN.length}`)}{}${HIDDEN}`,
  'two lengths in one line': `${post(`content-length: 2, ${2 + HIDDEN.length}`)}{}${HIDDEN}`,
  'a length with a sign': `${post(`content-length: +${HIDDEN.length}`)}${HIDDEN}`,
  'a length in hex': `${post('content-length: 0x10')}${HIDDEN}`,
  'a length of two words': `${post('content-length: 4 4')}${HIDDEN}`,
  'chunked, then identity, in two headers': `${post('transfer-encoding: chunked', 'transfer-encoding: identity')}0\r\n\r\n${HIDDEN}`,
  'chunked, not last': `${post('transfer-encoding: chunked, identity')}0\r\n\r\n${HIDDEN}`,
  'nearly chunked': `${post('transfer-encoding: xchunked', `content-length: ${HIDDEN.length}`)}${HIDDEN}`,
  'chunked behind a vertical tab': `${post('transfer-encoding: \vchunked', `content-length: ${HIDDEN.length}`)}${HIDDEN}`,
  'chunked in quotes': `${post('transfer-encoding: "chunked"', `content-length: ${HIDDEN.length}`)}${HIDDEN}`,
  'a space before the colon': `${post('transfer-encoding : chunked', `content-length: ${HIDDEN.length}`)}${HIDDEN}`,
  'a header that continues on the next line': `${post('transfer-encoding:\r\n chunked', `content-length: ${HIDDEN.length}`)}${HIDDEN}`,
  'a header behind a bare line feed': `${post(`x: y\ntransfer-encoding: chunked`, `content-length: ${HIDDEN.length}`)}${HIDDEN}`,
  'a header behind a bare carriage return': `${post(`x: y\rtransfer-encoding: chunked`, `content-length: ${HIDDEN.length}`)}${HIDDEN}`,
  'NUL in a header': `${post(`x: \0`, `content-length: ${HIDDEN.length}`)}${HIDDEN}`,
  'a chunk size that overflows': chunks(`10000000000000002\r\n{}\r\n0\r\n\r\n${HIDDEN}`),
  'a chunk size with a sign': chunks(`-2\r\n{}\r\n0\r\n\r\n${HIDDEN}`),
  'a chunk size in 0x': chunks(`0x2\r\n{}\r\n0\r\n\r\n${HIDDEN}`),
  'a chunk without a line end after its data': chunks(`2\r\n{}0\r\n\r\n${HIDDEN}`),
  'a chunk that is longer than its size': chunks(`2\r\n{}{}\r\n0\r\n\r\n${HIDDEN}`),
  'a chunk extension with a line feed': chunks(`2;x="\n"\r\n{}\r\n0\r\n\r\n${HIDDEN}`),
  'a chunk line with a bare carriage return': chunks(`2\r{}\r\n0\r\n\r\n${HIDDEN}`),
  'a trailer with a length and a malformed line': chunks(
    `2\r\n{}\r\n0\r\ncontent-length: 99\r\nbad trailer\r\n\r\n${HIDDEN}`,
  ),
};

/** Malformed requests, and requests for features that the service does not have. */
export const ODD_REQUESTS: Readonly<Record<string, string>> = {
  'HTTP/0.9': 'GET /v1/keys\r\n\r\n',
  'HTTP/2 preface': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0',
  'HTTP/2 preface without a version': 'PRI *HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'an asterisk as the target of a GET': get('*'),
  'an asterisk before a path': get('*health/live'),
  'an upgrade to HTTP/2': get(
    '/v1/keys',
    'connection: Upgrade, HTTP2-Settings',
    'upgrade: h2c',
    'http2-settings: AAMAAABkAAQAAP__',
  ),
  'an upgrade to WebSocket': get(
    '/v1/keys',
    'connection: Upgrade',
    'upgrade: websocket',
    'sec-websocket-version: 13',
    'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
  ),
  'a ClientHello of TLS': '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03' + '\x00'.repeat(64),
  'a CONNECT for a tunnel': crlf('CONNECT 127.0.0.1:22 HTTP/1.1', 'host: 127.0.0.1:22'),
  'OPTIONS of the whole server': crlf('OPTIONS * HTTP/1.1', 'host: x'),
  'an absolute address': get('http://other.example/v1/keys'),
  'an absolute address with a user': get('http://a:b@other.example/v1/keys'),
  'a host and port as the target': get('other.example:80'),
  'two hosts': get('/v1/keys', 'host: y'),
  'a host of spaces': crlf('GET /v1/keys HTTP/1.1', 'host:    '),
  'a host with a path': crlf('GET /v1/keys HTTP/1.1', 'host: x/../y'),
  'a header without a name': get('/v1/keys', ': x'),
  'a header without a colon': get('/v1/keys', 'x'),
  'a name with a space': get('/v1/keys', 'a b: c'),
  'Latin-1 in a header': get('/v1/keys', 'x: \xe9\xff'),
  'bare line feeds': 'GET /v1/keys HTTP/1.1\nhost: x\n\n',
  'blank lines first': `\r\n\r\n${get('/v1/keys')}`,
  'tabs instead of spaces': 'GET\t/v1/keys\tHTTP/1.1\r\nhost: x\r\n\r\n',
  'a method in lower case': 'get /v1/keys HTTP/1.1\r\nhost: x\r\n\r\n',
  'a method of a thousand letters': `${'A'.repeat(1000)} / HTTP/1.1\r\nhost: x\r\n\r\n`,
  'HTTP/1.2': 'GET /v1/keys HTTP/1.2\r\nhost: x\r\n\r\n',
  'ten thousand headers': get('/v1/keys', ...Array.from({ length: 10_000 }, (_, i) => `x${i}: y`)),
  'a header of 100,000 bytes': get('/v1/keys', `x: ${'y'.repeat(100_000)}`),
  'an encoded line end in a header': get('/v1/keys', 'x: a%0d%0aset-cookie: a=b'),
  'slashes and dots': get('//v1//../v1/./keys'),
  'encoded slashes and dots': get('/v1/%2e%2e%2f%2e%2e%2fetc%2fpasswd'),
  'dots that are encoded twice': get('/v1/%252e%252e/keys'),
  'overlong UTF-8': get('/v1/%c0%ae%c0%ae/keys'),
  'a backslash': get('/v1\\keys'),
  'an encoded line end in a path': get('/v1/keys%0d%0aset-cookie:%20a=b'),
  'a fragment': get('/v1/keys#x'),
  'raw UTF-8': 'GET /v1/\xc3\xa9 HTTP/1.1\r\nhost: x\r\n\r\n',
  'a path that leaves the folder of the pages': get('/portal/../../package.json'),
  'an encoded path that leaves the folder of the pages': get('/portal/%2e%2e/%2e%2e/package.json'),
  'an expectation': `${post('expect: 100-continue', 'content-length: 2')}{}`,
  'an expectation without a body': post('expect: 100-continue', 'content-length: 2'),
  'a body to a GET': `${get('/v1/keys', 'content-length: 5')}hello`,
  'five hundred ranges': get('/v1/keys', `range: bytes=${'0-,'.repeat(500)}`),
  'an override of the method': get('/v1/keys', 'x-http-method-override: DELETE'),
  'chunks with extensions and a trailer': chunks('2;a=b;c="d"\r\n{}\r\n0;e\r\nx-trailer: y\r\n\r\n'),
  'a thousand chunks of a byte': chunks(`${'1\r\n \r\n'.repeat(1000)}0\r\n\r\n`),
  'a request and garbage': `${get('/health/live')}\x01\x02\x03garbage\r\n\r\n`,
  'an incomplete request': get('/v1/keys').slice(0, -7),
  'no bytes': '',
};
