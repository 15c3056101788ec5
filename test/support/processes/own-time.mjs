// Preloaded into a service: a header of each response has the time since its request arrived. The time is that of the event
// loop of the service, so that a slow machine makes no difference.
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
