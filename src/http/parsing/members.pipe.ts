import { ArgumentMetadata, Injectable, PipeTransform } from '@nestjs/common';
import { problem } from '../problems/problem.js';
import { readJson } from './json-body.js';
import { membersOf, OptionalBody, ownMember, parseMembers, readObject } from './member.js';

type Dto = new () => object;

/** The parameters of paths that are ids in hexadecimal digits. */
const ID_PARAMETERS: readonly unknown[] = ['id', 'crash_sig'];

/**
 * Parses the members of a body or query that the DTO class names (docs/decisions/0060). Unknown members of a body are not read; a
 * query with an unknown parameter is refused. Ids in a path are put into lower case, as PostgreSQL returns them, because they are
 * also compared and stored. Other parts of a path, such as the tag of a language, keep their case.
 */
@Injectable()
export class MembersPipe implements PipeTransform {
  transform(value: unknown, { type, metatype, data }: ArgumentMetadata): unknown {
    if (type === 'param') return ID_PARAMETERS.includes(data) ? String(value).toLowerCase() : value;
    const isQuery = type === 'query' && data === undefined;
    if (type !== 'body' && !isQuery) return value;
    const dto = metatype as Dto;
    return parseMembers(dto, pickMembers(isQuery ? readQuery(value, dto) : readBody(value, dto), dto));
  }
}

function pickMembers(given: Readonly<Record<string, unknown>>, dto: Dto): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  for (const [name, { mayBeObject }] of membersOf(dto)) {
    const value = ownMember(given, name);
    const isHidden = !mayBeObject && typeof value === 'object' && value !== null;
    if (value !== undefined) members[name] = isHidden ? {} : value;
  }
  return members;
}

/** @throws Problem `invalid_request` for an unknown parameter: with a mistyped `dry_run`, a manifest would be published */
function readQuery(query: unknown, dto: Dto): Readonly<Record<string, unknown>> {
  const given = readObject(query);
  const known = membersOf(dto);
  if (Object.keys(given).every((name) => known.has(name))) return given;
  // The pointer is the whole query, because no problem repeats what was sent.
  const detail = `may only have the parameters ${[...known.keys()].join(', ')}`;
  throw problem('invalid_request', { errors: [{ pointer: '', detail }] });
}

function readBody(body: unknown, dto: Dto): Readonly<Record<string, unknown>> {
  if (body === undefined && Reflect.hasMetadata(OptionalBody.KEY, dto)) return {};
  return readObject(Buffer.isBuffer(body) ? readJson(body) : body);
}
