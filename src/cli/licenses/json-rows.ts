import { isObject } from '../../core/json-object.js';
import { columnName, type SourceRow } from '../../license-import/source-row.js';
import type { JsonDocument } from './json-documents.js';

/** A row of a JSON file. */
interface JsonRow extends SourceRow {
  /** The values as text by their paths, such as `metadata.email` and, of the linked user, `owner.email`. */
  readonly values: Readonly<Record<string, string>>;
}

/** A resource of a JSON:API document (https://jsonapi.org), as far as it is read here. */
interface Resource {
  readonly type?: unknown;
  readonly id?: unknown;
  readonly attributes?: unknown;
  readonly relationships?: unknown;
}

/** The members of linked resources that a row may need. The others are not kept. */
const LINKED_MEMBERS = ['email', 'status', 'refunded'];

/**
 * Yields the licenses of JSON documents: the resources of a type in JSON:API pages, or plain objects. A resource of another type,
 * such as a user or an order, is kept for the licenses that refer to it in the same or a later document.
 * @param resourceType the type of the resources that are licenses; without it, all are
 */
export async function* jsonRows(
  documents: AsyncIterable<JsonDocument>,
  resourceType: string | undefined,
): AsyncGenerator<JsonRow> {
  const linked = new Map<string, Record<string, string>>();
  for await (const { line, value } of documents) {
    const { data, included } = value as { data?: unknown; included?: unknown };
    const isJsonApi = Array.isArray(data) || (isObject(data) && data['attributes'] !== undefined);
    const items: unknown[] = isJsonApi ? [data].flat() : [value];
    const isLicense = (item: Resource) =>
      resourceType === undefined ||
      item.type === undefined ||
      item.attributes === undefined ||
      item.type === resourceType;
    for (const resource of [...items, ...(Array.isArray(included) ? included : [])].filter(isObject))
      if (!isLicense(resource)) keep(linked, resource);
    for (const [i, item] of items.entries()) {
      if (!isObject(item) || !isLicense(item)) continue;
      const place = isJsonApi ? `line ${line}, item ${i + 1}` : `line ${line}`;
      yield jsonRow(place, valuesOf(item, linked));
    }
  }
}

function keep(linked: Map<string, Record<string, string>>, { type, id, attributes }: Resource): void {
  if (!isObject(attributes)) return;
  const values = LINKED_MEMBERS.flatMap((name) =>
    name in attributes ? [[name, textOf(attributes[name])]] : [],
  );
  linked.set(`${String(type)} ${String(id)}`, Object.fromEntries(values) as Record<string, string>);
}

function jsonRow(place: string, values: Record<string, string>): JsonRow {
  const byName = new Map(Object.entries(values).map(([path, text]) => [columnName(path), text]));
  return { place, values, cell: (column) => byName.get(column) };
}

/** Returns the attributes of a resource or the members of an object, and the kept members of the resources that it refers to. */
function valuesOf(
  item: Resource,
  linked: ReadonlyMap<string, Record<string, string>>,
): Record<string, string> {
  const { attributes } = item;
  if (!isObject(attributes)) return flatten(item);
  const relationships = isObject(item.relationships) ? item.relationships : {};
  const idNames = Object.keys(attributes).filter((name) => name.endsWith('_id'));
  const names = new Set([
    ...Object.keys(relationships),
    ...idNames.map((name) => name.slice(0, -'_id'.length)),
  ]);
  const ofRelations = [...names].flatMap((name) => {
    const relation = relationships[name];
    const data: unknown = isObject(relation) ? relation['data'] : undefined;
    const byRelation = isObject(data)
      ? linked.get(`${String(data['type'])} ${String(data['id'])}`)
      : undefined;
    // Lemon Squeezy also names a linked resource in an attribute: `order_id` is the id of a resource of the type `orders`.
    const kept = byRelation ?? linked.get(`${name}s ${String(attributes[`${name}_id`])}`) ?? {};
    return Object.entries(kept).map(([member, text]) => [`${name}.${member}`, text] as const);
  });
  return { id: textOf(item.id), ...flatten(attributes), ...Object.fromEntries(ofRelations) };
}

/** Returns the members of an object as text; those of an object in it by their path. Lists are left out. */
function flatten(object: object, path = ''): Record<string, string> {
  const entries = Object.entries(object).flatMap(([name, value]: [string, unknown]) => {
    if (Array.isArray(value)) return [];
    return isObject(value)
      ? Object.entries(flatten(value, `${path}${name}.`))
      : [[`${path}${name}`, textOf(value)]];
  });
  return Object.fromEntries(entries) as Record<string, string>;
}

const textOf = (value: unknown): string => (value === null || value === undefined ? '' : String(value));
