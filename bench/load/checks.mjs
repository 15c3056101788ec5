import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { jwtVerify } from 'jose';
import { Fault } from '../../scripts/prepare.mjs';
import { Connection } from './connection.mjs';
import { post, requestOf } from './requests.mjs';
import { ROWS } from './rows.mjs';

/**
 * Every server answers every row once, rightly and like the service, before anything is measured: what is fast and wrong
 * is not compared. An independent library, jose, verifies the tokens.
 * @throws Fault
 */
export async function checkAnswers(servers, { seats, ring, settings, manifest, etag }) {
  const { publicKey } = ring.active;
  const service = servers.find(({ name }) => name === 'service');
  for (const server of servers) {
    const ask = async (request, port = server.port) => {
      const line = new Connection(port);
      const { status, body } = await line.ask(request);
      line.end();
      return { status, text: body.toString() };
    };
    try {
      const rows = Object.entries(ROWS).filter(([, row]) => row.servers.includes(server.name));
      for (const [name, row] of rows) {
        const [seat] = seats;
        const { status, text } = await ask(requestOf(name, seat, etag));
        strictEqual(status, row.status, name);
        if (name === 'manifest') strictEqual(text, manifest);
        if (status === 304 || name === 'manifest') continue;
        const answer = JSON.parse(text);
        if (answer.token) {
          const { payload } = await jwtVerify(answer.token, publicKey, { audience: settings.PRODUCT });
          strictEqual(payload.lic, seat.lic);
          strictEqual(Object.hasOwn(answer, 'telemetry'), name === 'telemetry');
          if (answer.telemetry) deepStrictEqual(answer.telemetry, { stored: true, dropped: [] });
        }
        const model = await ask(requestOf(name, seat, etag), service.port);
        deepStrictEqual(lasting(answer), lasting(JSON.parse(model.text)), name);
      }
      if (server.name !== 'floor') await checkRefusals(ask, seats[1]);
    } catch (error) {
      throw new Fault(`${server.name} answers wrongly: ${error.message}`);
    }
  }
}

// A signature is looked at, and so is the row.
async function checkRefusals(ask, { token, license_key }) {
  const [header, payload, signature] = token.split('.');
  const forged = `${header}.${payload}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;
  const refused = await ask(post('/v1/heartbeat', { token: forged, app_version: '0.9.0' }));
  deepStrictEqual([refused.status, JSON.parse(refused.text).code], [403, 'token_invalid']);
  const claim = {
    license_key,
    email: 'unknown@example.com',
    machine_id: '0'.repeat(64),
    app_version: '0.9.0',
  };
  const unknown = await ask(post('/v1/activate', claim));
  deepStrictEqual([unknown.status, JSON.parse(unknown.text).code], [404, 'license_not_found']);
}

/** An answer without what differs from one to the next. */
function lasting(answer) {
  const { token, offline_until, server_time, activation, license, ...rest } = answer;
  const memberTypes = [token, offline_until, server_time].map((member) => typeof member);
  const { machines_in_use, ...terms } = license ?? {};
  // A new machine gets a new binding.
  const binding = activation && { ...activation, id: '', activated_at: '' };
  return { ...rest, memberTypes, terms, counted: typeof machines_in_use, binding };
}
