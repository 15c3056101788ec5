import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/** The servers whose parsed requests are all answered by the framework. */
const frameworkOnly = new WeakSet<Server>();

/** Lets the framework answer all parsed requests from now on: it closes the connection after each response of the shutdown. */
export function stopAnsweringFirst(server: Server): void {
  frameworkOnly.add(server);
}

/**
 * Calls a function for each request before the listeners that the server has now, so that it can answer without the framework.
 * @param answer returns whether it handles the request; otherwise the listeners receive it. `passOn` gives it to them later
 */
export function answerFirst(
  server: Server,
  answer: (request: IncomingMessage, response: ServerResponse, passOn: () => void) => boolean,
): void {
  const [...listeners] = server.listeners('request');
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const passOn = () => {
      for (const listener of listeners) listener.call(server, request, response);
    };
    if (frameworkOnly.has(server) || !answer(request, response, passOn)) passOn();
  });
}
