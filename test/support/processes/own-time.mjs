// Preloaded into a service: each answer says in a header how long it took from the arrival of its request, in the time of the
// service's own event loop. A machine that is slow takes nothing of that time.
import { ServerResponse } from 'node:http';
import { loopTime } from '../loop-time.ts';

const began = new WeakMap();
const { assignSocket, writeHead } = ServerResponse.prototype;

ServerResponse.prototype.assignSocket = function (...given) {
  began.set(this, loopTime());
  return assignSocket.apply(this, given);
};

ServerResponse.prototype.writeHead = function (...given) {
  if (began.has(this)) this.setHeader('x-own-milliseconds', String(loopTime() - began.get(this)));
  return writeHead.apply(this, given);
};
