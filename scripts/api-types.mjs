/** Generates TypeScript types for the responses in docs/openapi.yaml that the pages read. */

/** Paths whose responses get no type: a page saves the export as a file and passes passkey options to the browser. */
const UNTYPED_PATHS = /\/(export|options)$/;
/** The API paths that pages read, except the texts of a page: src/languages/messages.ts has their type. */
const PAGE_API_PATHS = /^\/(portal\/|support\/|privacy\/|brand$|languages$)/;
const SCHEMAS = '#/components/schemas/';
const SCALARS = { string: 'string', integer: 'number', number: 'number', boolean: 'boolean', null: 'null' };

const literal = (value) => (typeof value === 'string' ? `'${value}'` : String(value));
/** Writes the type of a list. A union needs parentheses; a union of objects has a line that begins with `} |`. */
const listOf = (type) =>
  /^(\w+|\{[^]*\})$/.test(type) && !/^\} \|/m.test(type) ? `readonly ${type}[]` : `readonly (${type})[]`;

/** @param document the parsed document. @throws for a schema that cannot be converted */
export function apiTypes(document) {
  const declarations = new Map();
  const resolveRef = (ref) =>
    ref
      .slice(2)
      .split('/')
      .reduce((value, name) => value[name], document);

  function typeOf(schema) {
    if (schema.$ref) return typeOfRef(schema.$ref);
    if (schema.const !== undefined) return literal(schema.const);
    if (schema.enum) return schema.enum.map(literal).join(' | ');
    if (schema.oneOf) return schema.oneOf.map(typeOf).join(' | ');
    if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type })).join(' | ');
    if (schema.type === undefined) return 'unknown';
    if (schema.type === 'array') return listOf(typeOf(schema.items));
    if (schema.type === 'object') return objectType(schema);
    const scalar = SCALARS[schema.type];
    if (!scalar) throw new Error(`No TypeScript type for the schema ${JSON.stringify(schema)}`);
    return scalar;
  }

  function objectType(schema) {
    if (schema.properties) return `{\n${membersOf(schema).replaceAll(/^/gm, '  ')}\n}`;
    const [values] = Object.values(schema.patternProperties ?? {});
    return `Readonly<Record<string, ${values ? typeOf(values) : 'unknown'}>>`;
  }

  function membersOf({ properties, required = [] }) {
    const members = Object.entries(properties).map(([name, schema]) => {
      const comment = (schema.description ?? '').trim().replaceAll(/\s+/g, ' ');
      const member = `readonly ${name}${required.includes(name) ? '' : '?'}: ${typeOf(schema)};`;
      return comment ? `/** ${comment} */\n${member}` : member;
    });
    return members.join('\n');
  }

  /** Returns the type of a reference: a named type for an object or an array, and otherwise the type itself. */
  function typeOfRef(ref) {
    const schema = resolveRef(ref);
    const name = ref.slice(SCHEMAS.length);
    if (!/^\w+$/.test(name) || !['object', 'array'].includes(schema.type)) return typeOf(schema);
    if (!declarations.has(name)) {
      declarations.set(name, '');
      declarations.set(name, declaration(name, schema));
    }
    return name;
  }

  const declaration = (name, schema) =>
    schema.type === 'array' || !schema.properties
      ? `export type ${name} = ${typeOf(schema)};`
      : `export interface ${name} ${typeOf(schema)}`;

  for (const [path, operations] of Object.entries(document.paths)) {
    if (!PAGE_API_PATHS.test(path) || UNTYPED_PATHS.test(path)) continue;
    for (const { responses = {} } of Object.values(operations)) {
      for (const [status, { content }] of Object.entries(responses)) {
        const schema = content?.['application/json']?.schema;
        if (status.startsWith('2') && schema) typeOf(schema);
      }
    }
  }
  const texts = [...declarations].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text);
  return `// Generated from docs/openapi.yaml by \`npm run docs:api-types\`; a test keeps it current.\n\n${texts.join('\n\n')}\n`;
}
