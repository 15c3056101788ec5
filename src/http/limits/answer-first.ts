import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/**
 * Calls a function for each request before the listeners that the server has now, so that it can answer without the framework.
 * @param answer returns whether it has answered the request; otherwise the listeners receive it
 */
export function answerFirst(
  server: Server,
  answer: (request: IncomingMessage, response: ServerResponse) => boolean,
): void {
  const [...listeners] = server.listeners('request');
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (answer(request, response)) return;
    for (const listener of listeners) listener.call(server, request, response);
  });
}
