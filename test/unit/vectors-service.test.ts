import { beforeAll, describe, expect, test } from '@jest/globals';
import { telemetryBlock, type CrashSignature, type Telemetry } from '../../client/src/telemetry.js';
import {
  TELEMETRY_FIELDS,
  TELEMETRY_NAMES,
  type TelemetryName,
} from '../../src/telemetry/telemetry.fields.js';
import { Service } from '../support/harness.js';
import { readVectors } from '../support/vectors.js';

type Block = Record<string, unknown>;

const telemetry = readVectors<{
  cases: {
    name: string;
    telemetry: unknown;
    expected: { stored: boolean; dropped: string[]; values: Block };
  }[];
}>('telemetry.json').cases;
const machines = readVectors<{
  wire: { name: string; machine_id: unknown; accepted: boolean; mch: string | null }[];
}>('machine-ids.json').wire;

const service = await Service.start();
const license = await service.issue({ machines_allowed: 100 });

describe('telemetry.json, as the service stores it', () => {
  let token: string;
  beforeAll(async () => {
    token = (await service.activate(license)).json.token;
  });

  test.each(telemetry)('$name', async ({ telemetry: block, expected }) => {
    const { status, json } = await service.heartbeat(token, { telemetry: block });
    const rows = await service.sql<Block>('delete from telemetry_inbox returning *');
    expect([status, json.telemetry.stored]).toEqual([200, expected.stored]);
    expect(json.telemetry.dropped.toSorted()).toEqual(expected.dropped.toSorted());
    const values = rows.map((row) => TELEMETRY_NAMES.map((name) => [name, row[name]]));
    const none = Object.fromEntries(TELEMETRY_NAMES.map((name) => [name, null]));
    expect(values.map((row) => Object.fromEntries(row) as Block)).toEqual(
      expected.stored ? [{ ...none, ...expected.values }] : [],
    );
  });

  test('the cases store a value of every shape that a field can have', () => {
    const shapeOf = (name: string) => TELEMETRY_FIELDS[name as TelemetryName].shape;
    const stored = new Set(telemetry.flatMap(({ expected }) => Object.keys(expected.values).map(shapeOf)));
    expect([...stored].toSorted()).toEqual([...new Set(TELEMETRY_NAMES.map(shapeOf))].toSorted());
  });
});

describe('telemetry.json, as the reference client sends it', () => {
  // The blocks with an app_version of which the service drops no member.
  const good = telemetry.filter(({ telemetry: block, expected: { stored, values } }) => {
    const sent = stored && Object.keys(block as Block).length === Object.keys(values).length;
    return sent && 'app_version' in values;
  });

  test.each(good)('the block is sent unchanged: $name', ({ telemetry: block }) => {
    const fields = block as Telemetry & CrashSignature;
    expect(
      telemetryBlock(
        fields.app_version!,
        () => fields,
        fields,
        () => {},
      ),
    ).toEqual(block);
  });

  test('a member that is no telemetry field is not sent', () => {
    const { telemetry: block } = telemetry.find(({ name }) => name.startsWith('A member that is not known'))!;
    expect(
      telemetryBlock(
        '3.2.0',
        () => block as Telemetry,
        null,
        () => {},
      ),
    ).toEqual({
      app_version: '3.2.0',
      arch: 'arm64',
    });
  });
});

describe('machine-ids.json, as the service reads it', () => {
  test.each(machines)('$name', async ({ machine_id, accepted, mch }) => {
    const { status, json } = await service.activate(license, 'a machine', { machine_id });
    expect([200, 201].includes(status)).toBe(accepted);
    if (!accepted) {
      expect([status, json.code, json.errors[0].pointer]).toEqual([422, 'invalid_request', '/machine_id']);
      return;
    }
    const [, payload] = (json.token as string).split('.') as [string, string];
    expect(JSON.parse(Buffer.from(payload, 'base64url').toString())).toMatchObject({ mch });
  });

  test('one digest in three spellings is one machine', async () => {
    const same = machines.filter(({ mch }) => mch === machines[0]!.mch);
    expect(same).toHaveLength(3);
    const answers = await Promise.all(
      same.map(({ machine_id }) => service.activate(license, 'a machine', { machine_id })),
    );
    expect(new Set(answers.map(({ json }) => json.activation.id)).size).toBe(1);
  });
});
