// A module that is preloaded into a service. It adds a header to each response with the time since the request arrived, in loop
// time (loop-time.ts), which hardly advances while the process does not run, so that other load hardly changes it.
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
