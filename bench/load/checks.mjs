import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { jwtVerify } from 'jose';
import { ScriptError } from '../../scripts/prepare.mjs';
import { Connection } from './connection.mjs';
import { post, requestOf } from './requests.mjs';
import { REQUEST_KINDS } from './request-kinds.mjs';

/**
 * Checks, before anything is measured, that every server answers every kind of request correctly and as the service does. An
 * independent library, jose, verifies the tokens.
 * @throws ScriptError
 */
export async function checkAnswers(servers, { activations, ring, settings, manifest, etag }) {
  const { publicKey } = ring.active;
  const service = servers.find(({ name }) => name === 'service');
  for (const server of servers) {
    const send = async (request, port = server.port) => {
      const connection = new Connection(port);
      const { status, body } = await connection.send(request);
      connection.end();
      return { status, text: body.toString() };
    };
    try {
      const kinds = Object.entries(REQUEST_KINDS).filter(([, kind]) => kind.servers.includes(server.name));
      for (const [name, kind] of kinds) {
        const [activation] = activations;
        const { status, text } = await send(requestOf(name, activation, etag));
        strictEqual(status, kind.status, name);
        if (name === 'manifest') strictEqual(text, manifest);
        if (status === 304 || name === 'manifest') continue;
        const answer = JSON.parse(text);
        if (answer.token) {
          const { payload } = await jwtVerify(answer.token, publicKey, { audience: settings.PRODUCT });
          strictEqual(payload.lic, activation.lic);
          strictEqual(Object.hasOwn(answer, 'telemetry'), name === 'telemetry');
          if (answer.telemetry) deepStrictEqual(answer.telemetry, { stored: true, dropped: [] });
        }
        const reference = await send(requestOf(name, activation, etag), service.port);
        deepStrictEqual(withoutVaryingValues(answer), withoutVaryingValues(JSON.parse(reference.text)), name);
      }
      const answers = (kind) => REQUEST_KINDS[kind].servers.includes(server.name);
      if (answers('heartbeat')) await checkForgedToken(send, activations[1]);
      if (!answers('activate_new')) continue;
      await checkUnknownLicense(send, activations[1]);
      await checkInvalidHint(send, activations[1]);
    } catch (error) {
      throw new ScriptError(`The server "${server.name}" gives a wrong response: ${error.message}`);
    }
  }
}

/** Checks that the server verifies the signature of a token. */
async function checkForgedToken(send, { token }) {
  const [header, payload, signature] = token.split('.');
  const forged = `${header}.${payload}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;
  const refused = await send(post('/v1/heartbeat', { token: forged, app_version: '0.9.0' }));
  deepStrictEqual([refused.status, JSON.parse(refused.text).code], [403, 'token_invalid']);
}

/** Checks that the server looks up the license of an activation. */
async function checkUnknownLicense(send, { license_key }) {
  const body = {
    license_key,
    email: 'unknown@example.com',
    machine_id: '0'.repeat(64),
    app_version: '0.9.0',
  };
  const unknown = await send(post('/v1/activate', body));
  deepStrictEqual([unknown.status, JSON.parse(unknown.text).code], [404, 'license_not_found']);
}

/** Checks that the server refuses a label that PostgreSQL cannot store. */
async function checkInvalidHint(send, { license_key, email }) {
  const body = {
    license_key,
    email,
    machine_id: '0'.repeat(64),
    hostname_hint: 'a\0b',
    app_version: '0.9.0',
  };
  const invalid = await send(post('/v1/activate', body));
  deepStrictEqual([invalid.status, JSON.parse(invalid.text).code], [422, 'invalid_request']);
}

/** Replaces the values that differ from one request to the next, so that two responses can be compared. */
function withoutVaryingValues(answer) {
  const { token, offline_until, server_time, activation, license, ...rest } = answer;
  const memberTypes = [token, offline_until, server_time].map((member) => typeof member);
  const { machines_in_use, ...terms } = license ?? {};
  // The id differs, because each new machine gets a new activation.
  const sameActivation = activation && { ...activation, id: '', activated_at: '' };
  return { ...rest, memberTypes, terms, countType: typeof machines_in_use, activation: sameActivation };
}
