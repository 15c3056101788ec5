import { platform } from 'node:os';

/*
 * Canaries: addresses that occur nowhere else. If a log or the database contains one, the service has kept the address of a
 * caller.
 */

/**
 * The address from which tests send requests. On Linux the loopback has all addresses of 127/8, so this one is used for nothing
 * else. Other systems have only 127.0.0.1, which many settings contain, so there only the headers contain canaries.
 */
export const CLIENT_ADDRESS = platform() === 'linux' ? '127.0.0.77' : '127.0.0.1';

const V4 = '203.0.113.77';
const V6 = '2001:db8::77';

/** Headers in which proxies pass on the address of a client, with canaries as values. */
export const FORWARDING_HEADERS: Readonly<Record<string, string>> = {
  'X-Forwarded-For': `${V4}, ${V6}, 127.0.0.77`,
  'X-Forwarded-Host': V4,
  'X-Forwarded-Server': V4,
  'X-Forwarded-By': V4,
  Forwarded: `for="[${V6}]:4711";by=${V4};host=${V4}`,
  'X-Real-IP': V4,
  'X-Client-IP': V4,
  'X-Cluster-Client-IP': V4,
  'CF-Connecting-IP': V4,
  'CF-Connecting-IPv6': V6,
  'True-Client-IP': V6,
  'Fastly-Client-IP': V4,
  'Fly-Client-IP': V6,
  'X-Azure-SocketIP': V4,
  'X-Original-Remote': V6,
  Via: `1.1 ${V4}, 1.1 [${V6}]`,
};
