import { DataSource, EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { recordAudit, type AuditContext } from '../audit/audit.js';
import { Clock } from '../core/clock.js';
import { Config } from '../core/config.js';
import { Invalid, type Field } from '../core/field.js';
import { execute, queryRows, valuesByColumn } from '../database/sql.js';
import { emailField } from '../fields/email.js';
import { completeLicenseKeyField } from '../fields/license-key.js';
import { expiryTextField, machinesAllowedField, onExpiryField } from '../fields/license-terms.js';
import { licenseKeyHash, licenseKeyHint } from '../keys/license-key.js';
import { hasValidCheckSymbol, readLicenseKey, withServicePrefix } from '../keys/license-key-text.js';
import type { NewLicense } from './licenses.service.js';

/** The hash of a key that another license has or had. */
type TakenKey = { readonly key_hash: Buffer };

/** The number of rows that one statement inserts. */
const BATCH_ROWS = 2_000;
/** The number of faults that are listed; further ones are counted. */
const MAX_REPORTED_FAULTS = 20;

// Imports a CSV file in Mooring's own format, whose keys become the license keys. Licenses of other systems get new keys, and keep
// theirs as previous keys: src/license-import/ imports them. The file is long, because an imported row has faults of its own and
// others that only the database shows, and both are reported together.

/** The columns that an imported file may have, in any order. */
const COLUMNS = ['license_key', 'email', 'machines_allowed', 'expires_at', 'on_expiry'] as const;
const REQUIRED_COLUMNS = ['license_key', 'email'] as const;

export type ImportColumn = (typeof COLUMNS)[number];

/** A row below the header, and the line of the file in which it begins. */
export interface ImportRow {
  readonly line: number;
  readonly cells: readonly string[];
}

/** The values of empty cells and of columns that the file does not have; without a value, `expires_at` means never. */
type Defaults = Pick<Required<NewLicense>, 'machines_allowed' | 'on_expiry'>;

interface ParsedRow {
  /** In canonical form. */
  readonly key?: string;
  readonly license?: Partial<NewLicense>;
  readonly faults: readonly string[];
}

/** The reason why a file is not imported. `faults` lists the details, such as `line 7: email is missing`. */
export class ImportError extends Error {
  constructor(
    message: string,
    readonly faults: readonly string[] = [],
  ) {
    super(message);
  }
}

/**
 * Returns the columns that a header names, in the order of the header.
 * @throws ImportError if a required column is missing, or if a column is unknown or named twice
 */
export function importColumns(header: readonly string[]): ImportColumn[] {
  const names = header.map((name) => name.trim().toLowerCase());
  // This is checked first: without a header the first line is customer data, which messages must not contain.
  if (!REQUIRED_COLUMNS.every((name) => names.includes(name))) {
    throw new ImportError(
      `The first line must name the columns ${REQUIRED_COLUMNS.join(' and ')}, with commas or semicolons between. ` +
        'The file of another system needs --from or --map (docs/operations/license-import.md).',
    );
  }
  for (const [i, name] of names.entries()) {
    if (!COLUMNS.some((column) => column === name)) {
      const known = COLUMNS.join(', ');
      throw new ImportError(`${columnTitle(header[i]!.trim(), i)} is unknown; known are ${known}.`);
    }
    if (names.indexOf(name) !== i) throw new ImportError(`The column ${name} is named twice.`);
  }
  return names as ImportColumn[];
}

/** The name of a column for a message, or its number if the cell may contain customer data. */
function columnTitle(name: string, index: number): string {
  const isName = /^[\p{L}\p{N}][\p{L}\p{N} _.-]{0,39}$/u.test(name) && !mayBeLicenseKey(name);
  return isName ? `The column ${name}` : `Column ${index + 1}`;
}

// A column name of 16 letters also has the shape of a key. A text without a digit counts as a key only if its check symbol is
// right, because nearly every key has a digit.
function mayBeLicenseKey(text: string): boolean {
  const key = readLicenseKey(text);
  return key !== null && (/\d/.test(text) || hasValidCheckSymbol(key));
}

/** Parses a row. The license is complete if there are no faults. Faults never contain the text of a cell. */
export function parseRow(
  columns: readonly ImportColumn[],
  cells: readonly string[],
  defaults: Defaults,
): ParsedRow {
  if (cells.length !== columns.length) {
    return { faults: [`the number of cells must be ${columns.length}, as in the header`] };
  }
  const faults: string[] = [];
  const read = <T>(name: ImportColumn, parse: Field<T>['parse'], valueIfEmpty?: T): T | undefined => {
    const text = cells[columns.indexOf(name)]?.trim() ?? '';
    const value = text === '' ? (valueIfEmpty ?? new Invalid('is missing')) : parse(text);
    if (!(value instanceof Invalid)) return value;
    faults.push(`${name} ${value.sentence}`);
    return undefined;
  };
  const key = read('license_key', completeLicenseKeyField.parse);
  const email = read('email', emailField.parse);
  const machines_allowed = read(
    'machines_allowed',
    machinesAllowedField.parseText,
    defaults.machines_allowed,
  );
  const expires = read('expires_at', expiryTextField.parse, 'never');
  const on_expiry = read('on_expiry', onExpiryField.parse, defaults.on_expiry);
  const expires_at = expires === 'never' ? null : expires;
  return { key, license: { email, machines_allowed, expires_at, on_expiry }, faults };
}

/**
 * Imports licenses with existing keys in one transaction. Only the hash and the hint of a key are stored.
 * @returns the number of imported licenses
 * @throws ImportError with the faults by line
 */
export async function importLicenses(
  { dataSource, config, clock }: { dataSource: DataSource; config: Config; clock: Clock },
  columns: readonly ImportColumn[],
  rows: AsyncIterable<ImportRow>,
  audit: AuditContext,
): Promise<number> {
  return dataSource.transaction(async (manager) => {
    // Only one import runs at a time: two imports with the same keys in different order would deadlock. This lock does not
    // block requests.
    await execute(manager, 'lock table license in share update exclusive mode');
    const at = clock.now();
    const { defaultMachinesPerLicense: machines_allowed, defaultOnExpiry: on_expiry } = config;
    const defaults = { machines_allowed, on_expiry };
    const writer = new LicenseWriter(manager, columns, defaults, config.licenseKeyPrefix, at);
    const batch: ImportRow[] = [];
    for await (const row of rows) {
      if (batch.push(row) === BATCH_ROWS) await writer.add(batch.splice(0));
    }
    await writer.add(batch);
    const licenses = writer.finish();
    await recordAudit(manager, audit, { action: 'license.import', change: { licenses }, at });
    return licenses;
  });
}

// Keys that were replaced are taken too: they may have leaked.
const FIND_REPLACED_KEYS = 'select key_hash from replaced_key where key_hash = any($1)';
const FIND_TAKEN_KEYS = `select key_hash from license where key_hash = any($1) union ${FIND_REPLACED_KEYS}`;
// The statement waits for a concurrent insert or replacement of the same key, and returns the keys that another license has.
const INSERT_LICENSES = `
  with given as (
    select * from unnest($1::bytea[], $2::uuid[], $3::text[], $4::text[], $5::integer[], $6::timestamptz[], $7::text[])
      as license (key_hash, id, key_hint, email, machines_allowed, expires_at, on_expiry)
  ), written as (
    insert into license (key_hash, id, key_hint, email, machines_allowed, expires_at, on_expiry, created_at, end_changed_at)
    select given.*, $8::timestamptz, $8 from given on conflict (key_hash) do nothing returning id
  )
  select key_hash from given where id not in (select id from written)`;
const VALUE_COLUMNS = ['id', 'key_hint', 'email', 'machines_allowed', 'expires_at', 'on_expiry'] as const;

/** Writes the licenses of a file in the caller's transaction. */
class LicenseWriter {
  /** The line of each key, by the hash of the key. */
  readonly #lines = new Map<string, number>();
  readonly #faults: string[] = [];

  constructor(
    private readonly manager: EntityManager,
    private readonly columns: readonly ImportColumn[],
    private readonly defaults: Defaults,
    private readonly servicePrefix: string,
    private readonly at: Date,
  ) {}

  /** Writes the next rows. If this or an earlier call found a fault, the rows are only checked. */
  async add(rows: readonly ImportRow[]): Promise<void> {
    const faults: { line: number; text: string }[] = [];
    const licenses: ({ id: string; key_hash: Buffer; key_hint: string } & Partial<NewLicense>)[] = [];
    for (const { line, cells } of rows) {
      const { key, license, faults: rowFaults } = parseRow(this.columns, cells, this.defaults);
      for (const text of rowFaults) faults.push({ line, text });
      if (key === undefined) continue;
      const key_hash = licenseKeyHash(withServicePrefix(key, this.servicePrefix));
      const firstLine = this.#lines.get(key_hash.toString('base64'));
      if (firstLine !== undefined) {
        faults.push({ line, text: `this key is already in line ${firstLine} (O counts as 0, I and L as 1)` });
        continue;
      }
      this.#lines.set(key_hash.toString('base64'), line);
      licenses.push({ id: uuidv7(), key_hash, key_hint: licenseKeyHint(key), ...license });
    }
    const hashes = licenses.map(({ key_hash }) => key_hash);
    const values = valuesByColumn(licenses, VALUE_COLUMNS);
    const hasNoFaults = this.#faults.length + faults.length === 0;
    const takenKeys = hasNoFaults
      ? [
          ...(await queryRows<TakenKey>(this.manager, INSERT_LICENSES, [hashes, ...values, this.at])),
          // A second statement, because it has a newer snapshot: the insert may have waited for a transaction that replaced one of
          // these keys. It then succeeds, but its own snapshot does not show the key in `replaced_key`.
          ...(await queryRows<TakenKey>(this.manager, FIND_REPLACED_KEYS, [hashes])),
        ]
      : await queryRows<TakenKey>(this.manager, FIND_TAKEN_KEYS, [hashes]);
    for (const { key_hash } of takenKeys) {
      const line = this.#lines.get(key_hash.toString('base64'))!;
      faults.push({ line, text: 'a license has this key already, or had it until it was replaced' });
    }
    faults.sort((a, b) => a.line - b.line);
    this.#faults.push(...faults.map(({ line, text }) => `line ${line}: ${text}`));
  }

  /** @returns the number of licenses @throws ImportError if there was a fault, or no license */
  finish(): number {
    const omittedCount = this.#faults.length - MAX_REPORTED_FAULTS;
    const reportedFaults = [
      ...this.#faults.slice(0, MAX_REPORTED_FAULTS),
      ...(omittedCount > 0 ? [`… and ${omittedCount} more`] : []),
    ];
    if (reportedFaults.length > 0) throw new ImportError('Nothing was imported.', reportedFaults);
    if (this.#lines.size === 0) throw new ImportError('The file holds no licenses.');
    return this.#lines.size;
  }
}
