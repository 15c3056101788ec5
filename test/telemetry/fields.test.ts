import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { DIMENSIONS, TELEMETRY_FIELDS, TELEMETRY_NAMES } from '../../src/telemetry/telemetry.fields.js';
import { readOpenApi } from '../support/http/openapi.js';

/*
 * A telemetry field is named in each place that the comment of TELEMETRY_FIELDS lists. A failure names the field and the
 * places that lack it. The types and comments of the columns are tested in test/database/columns.test.ts.
 */

interface Schema {
  readonly properties: Record<string, Schema>;
  readonly items: Schema;
  readonly enum: string[];
}
type Field = readonly [name: string, meaning: string];

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const { schemas } = (readOpenApi() as { components: { schemas: Record<string, Schema> } }).components;
const migrations = readdirSync(new URL('../../migrations/', import.meta.url))
  .map((file) => read(`migrations/${file}`))
  .join('\n');
const client = read('client/src/telemetry.ts');
const pythonClient = read('clients/python/src/mooring_client/telemetry.py');
const privacy = read('docs/privacy.md');
const counts = read('web/support/fleet/counts.ts');
const languages = readdirSync(new URL('../../src/languages/descriptions/', import.meta.url));

const dropped = Object.values(schemas).find(
  ({ properties }) => properties?.['telemetry']?.properties?.['dropped'],
)!.properties['telemetry']!.properties['dropped']!;

/** Each place of a field, and whether it names the field. */
const PLACES: Record<string, (field: Field) => boolean> = {
  'migrations: telemetry_inbox': ([name, meaning]) =>
    migrations.includes(`comment on column telemetry_inbox.${name} is '${meaning}.';`),
  'docs/openapi.yaml: Telemetry': ([name]) => name in schemas['Telemetry']!.properties,
  'docs/openapi.yaml: dropped': ([name]) => dropped.items.enum.includes(name),
  'client/src/telemetry.ts: the type': ([name]) => new RegExp(`^  ${name}\\?: .+;$`, 'm').test(client),
  'client/src/telemetry.ts: the check': ([name]) => new RegExp(`^  ${name}: is\\w+,$`, 'm').test(client),
  'clients/python/src/mooring_client/telemetry.py: the table': ([name]) =>
    new RegExp(`^    "${name}": \\w+,$`, 'm').test(pythonClient),
  ...Object.fromEntries(
    languages.map((file) => {
      const path = `src/languages/descriptions/${file}`;
      const descriptions = JSON.parse(read(path)) as Record<string, string>;
      return [path, ([, meaning]: Field) => `${meaning}.` in descriptions];
    }),
  ),
  'docs/privacy.md: run `npm run docs:privacy`': ([name, meaning]) =>
    privacy
      .split('\n')
      .some((line) => line.startsWith(`| \`${name}\` | `) && line.endsWith(` | ${meaning} |`)),
};

/** Each place of a field that staff see in weekly counts. */
const STAFF_PLACES: Record<string, (name: string, dimension: string) => boolean> = {
  'docs/openapi.yaml: FleetWeek': (_name, dimension) => dimension in schemas['FleetWeek']!.properties,
  'web/support/fleet/counts.ts: the week': (_name, dimension) => counts.includes(`week.${dimension},`),
  'web/support/fleet/counts.ts: the label': (name, dimension) =>
    name === dimension || counts.includes(`cell.${name}`) || counts.includes(`({ ${name} })`),
};

const missingPlaces = (field: Field) => Object.keys(PLACES).filter((place) => !PLACES[place]!(field));
const missingStaffPlaces = (name: string, dimension: string) =>
  Object.keys(STAFF_PLACES).filter((place) => !STAFF_PLACES[place]!(name, dimension));
const countedFields = Object.entries(DIMENSIONS).flatMap(([dimension, names]) =>
  names.map((name) => [name, dimension] as const),
);

test.each(TELEMETRY_NAMES)('%s is named in each place', (name) => {
  expect(missingPlaces([name, TELEMETRY_FIELDS[name].meaning])).toEqual([]);
});

test.each(countedFields)('%s is named in each place of the weekly table %s', (name, dimension) => {
  expect(missingStaffPlaces(name, dimension)).toEqual([]);
});

test('a field that no place names is reported for each place', () => {
  expect(missingPlaces(['planted_field', 'A planted field'])).toEqual(Object.keys(PLACES));
  expect(missingStaffPlaces('planted_field', 'planted')).toEqual(Object.keys(STAFF_PLACES));
});

test('docs/openapi.yaml and the clients name no field that TELEMETRY_FIELDS lacks', () => {
  const known = [...TELEMETRY_NAMES].toSorted();
  expect(Object.keys(schemas['Telemetry']!.properties).toSorted()).toEqual(known);
  expect(dropped.items.enum.toSorted()).toEqual(known);
  expect([...client.matchAll(/^ {2}(\w+)\?: /gm)].map(([, name]) => name!).toSorted()).toEqual(known);
  expect([...pythonClient.matchAll(/^ {4}"(\w+)": /gm)].map(([, name]) => name!).toSorted()).toEqual(known);
});

test('a weekly table counts one field or a pair, and no field is counted twice', () => {
  for (const names of Object.values(DIMENSIONS)) expect([1, 2]).toContain(names.length);
  const names = Object.values(DIMENSIONS).flat();
  expect(new Set(names).size).toBe(names.length);
});
