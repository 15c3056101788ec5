import type { DataSource } from 'typeorm';
import { ConfigError } from '../core/config.js';
import { connectionRefusal, INSUFFICIENT_PRIVILEGE, NO_SCHEMA, roleError } from './access-errors.js';
import { withMaintenanceConnection } from './data-source.js';
import { queryOne } from './sql.js';

/** The rights of the role of DATABASE_URL, from the catalogs, which every role can read. */
interface Rights {
  readonly role: string;
  /** Whether the role has the rights of the role that owns the database. */
  readonly owns_database: boolean;
  /** Whether the role may create the schema of the job queue. */
  readonly may_create_schema: boolean;
  /** The schema of the tables; null if the search path has no schema that the role may use. */
  readonly schema: string | null;
  /** If `schema` is null, this distinguishes a search path without a schema from a role that lacks rights on `public`. */
  readonly may_use_public: boolean;
  /** Whether the role may create tables in `schema`. */
  readonly may_create_tables: boolean;
  /**
   * A role that owns a table in the schema `public` or `graphile_worker`, and whose rights this role does not have; null if there
   * is none.
   */
  readonly table_owner: string | null;
  /** Whether `table_owner` is the first superuser of the server (oid 10), whose objects cannot be reassigned. */
  readonly is_first_superuser: boolean;
}

const SELECT_RIGHTS = `
  select quote_ident(current_user) as role, pg_has_role(d.datdba, 'usage') as owns_database,
    has_database_privilege(d.oid, 'create') as may_create_schema, quote_ident(current_schema()) as schema,
    coalesce(has_schema_privilege(to_regnamespace('public'), 'usage'), false) as may_use_public,
    coalesce(has_schema_privilege(current_schema(), 'create'), false) as may_create_tables,
    quote_ident(o.rolname) as table_owner, coalesce(o.oid = 10, false) as is_first_superuser
  from pg_database d left join lateral (
    select r.oid, r.rolname from pg_class c join pg_roles r on r.oid = c.relowner
    where c.relkind in ('r', 'p') and not pg_has_role(r.oid, 'usage')
      and c.relnamespace = any(select oid from pg_namespace where nspname in ('public', 'graphile_worker'))
    order by c.relname = 'schema_migration' desc, r.rolname limit 1) o on true
  where d.datname = current_database()`;

/**
 * Refuses a role that cannot apply pending migrations.
 * @throws ConfigError with the message that a start of the service would print
 */
export async function requireMigrationRights(dataSource: DataSource, databaseUrl: string): Promise<void> {
  const rights = await queryOne<Rights>(dataSource, SELECT_RIGHTS);
  if (!rights.may_create_schema || !rights.may_create_tables || rights.table_owner !== null)
    throw refusalOf(rights, databaseUrl);
}

/**
 * Returns the error for a refused connection, as `connectionRefusal` does; null if waiting may help. If the role owns the database
 * but lacks rights on its schema or tables, the error names the command that corrects this.
 */
export async function databaseRefusal(error: unknown, databaseUrl: string): Promise<ConfigError | null> {
  const refusal = connectionRefusal(error, databaseUrl);
  const { code } = (refusal?.cause ?? {}) as { code?: unknown };
  if (code !== INSUFFICIENT_PRIVILEGE && code !== NO_SCHEMA) return refusal;
  // If the rights cannot be read, because a second connection fails, the general message of `connectionRefusal` is right too.
  const rights = await withMaintenanceConnection(databaseUrl, (dataSource) =>
    queryOne<Rights>(dataSource, SELECT_RIGHTS),
  ).catch(() => null);
  return rights ? refusalOf(rights, databaseUrl) : refusal;
}

function refusalOf(rights: Rights, url: string): ConfigError {
  const { role, owns_database, may_create_tables, table_owner, is_first_superuser } = rights;
  if (!owns_database) return roleError(INSUFFICIENT_PRIVILEGE, url);
  if (rights.schema === null && rights.may_use_public) return roleError(NO_SCHEMA, url);
  if (!may_create_tables) {
    const schema = rights.schema ?? 'public';
    const remedy = `run grant all on schema ${schema} to ${role} in that database as a superuser`;
    return new ConfigError(
      `The role ${role} owns the database, but may not create tables in its schema ${schema}: ${remedy} (docs/operations/install.md).`,
    );
  }
  if (table_owner === null) return roleError(INSUFFICIENT_PRIVILEGE, url);
  const remedy = is_first_superuser
    ? 'restore a dump of the database as this role with pg_restore --no-owner, because nothing of the first superuser can be reassigned'
    : `run reassign owned by ${table_owner} to ${role} in that database as a superuser`;
  return new ConfigError(
    `The role ${role} owns the database, but ${table_owner} owns its tables: ${remedy} (docs/operations/install.md).`,
  );
}
