// Preloaded into each tool of `npm run judges`. It refuses connections to other machines, datagrams and look-ups of names, and
// appends each refused attempt to the file that MOORING_CONNECTIONS names. The run fails if this file has a line.
import { appendFileSync } from 'node:fs';
import dns from 'node:dns';
import dgram from 'node:dgram';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';

const LOOPBACK = /^(127(\.\d+){3}|::1|localhost)$/;

function refuse(target) {
  appendFileSync(process.env.MOORING_CONNECTIONS, `${process.argv[1] ?? 'node'}: ${target}\n`);
  throw Object.assign(new Error(`${target} is another machine`), { code: 'ECONNREFUSED' });
}

const { connect } = net.Socket.prototype;
net.Socket.prototype.connect = function (...args) {
  const [options] = Array.isArray(args[0]) ? args[0] : args;
  // With a path, the socket is a Unix socket of this machine.
  const {
    path,
    host = 'localhost',
    port,
  } = typeof options === 'object' ? options : { host: args[1], port: options };
  if (!path && !LOOPBACK.test(host)) refuse(`${host}:${port}`);
  return connect.apply(this, args);
};
for (const name of ['send', 'connect']) {
  dgram.Socket.prototype[name] = () => refuse('a datagram');
}
const names = (module) => Object.keys(module).filter((name) => /^(lookup|resolve|reverse)/.test(name));
// The look-up of an IP address or of `localhost` sends nothing.
for (const module of [dns, dns.promises]) {
  for (const name of names(module)) {
    const original = module[name];
    module[name] = (...args) =>
      net.isIP(args[0]) || LOOPBACK.test(args[0])
        ? original.apply(module, args)
        : refuse(`a look-up of ${args[0]}`);
  }
}
syncBuiltinESMExports();
