// Preloaded into a service: a header of each answer has the time since the arrival of its request, measured in turns of the
// service's own event loop, so that a slow machine does not count.
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
