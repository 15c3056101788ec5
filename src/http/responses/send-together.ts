import type { Server } from 'node:http';

/**
 * Returns a function that calls `send` after the other requests that have arrived were read, so that the responses to all of them
 * are sent one right after the other. If each were sent at once, its reader (a proxy, for example) would wake, find no other
 * response, and sleep again: most of the time of a prepared response is such a wake (docs/decisions/0017).
 */
export function sendTogether(server: Server): (send: () => void) => void {
  const waiting: (() => void)[] = [];
  const sendAll = () => {
    for (const send of waiting.splice(0)) send();
  };
  // Bytes that are no request are refused at once: on the same connection, the responses to the requests before them come first.
  server.prependListener('clientError', sendAll);
  return (send) => {
    if (waiting.push(send) === 1) setImmediate(sendAll);
  };
}
