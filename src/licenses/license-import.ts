import { DataSource, EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { recordAudit, type Act } from '../audit/audit.js';
import { Clock, parseMoment } from '../core/clock.js';
import { Config } from '../core/config.js';
import { canonicalLicenseKey, licenseKeyHash, licenseKeyHint } from '../keys/license-key.js';
import { canonicalEmail } from './email.js';
import type { NewLicense } from './licenses.service.js';

/** Rows that go into one statement. */
const BATCH_ROWS = 2_000;
/** Faults that are told one by one; the others are counted. */
const TOLD_FAULTS = 20;

/** The columns that a file may have, and what a cell of each must be. */
const COLUMNS = {
  license_key: 'have the shape PREFIX_XXXX-XXXX-XXXX-XXXX',
  email: 'be an e-mail address of at most 254 characters',
  machines_allowed: 'be a whole number from 1 to 100000',
  expires_at: 'be a day such as 2027-01-04 or a time such as 2027-01-04T12:00:00Z, or never',
  on_expiry: 'be one of stop, keep',
} as const;
const REQUIRED = ['license_key', 'email'] as const;

export type ImportColumn = keyof typeof COLUMNS;

/** A row below the header, and the line of the file that it begins in. */
export interface ImportRow {
  readonly line: number;
  readonly cells: readonly string[];
}

/** What an empty cell means; one of `expires_at` means never. */
type Defaults = Pick<Required<NewLicense>, 'machines_allowed' | 'on_expiry'>;

interface ReadRow {
  /** Canonical. */
  readonly key?: string;
  readonly license?: Partial<NewLicense>;
  readonly faults: readonly string[];
}

/** Why a file is not imported, in one sentence; `faults` are the sentence's grounds: `line 7: email is missing`. */
export class ImportRefused extends Error {
  constructor(
    message: string,
    readonly faults: readonly string[] = [],
  ) {
    super(message);
  }
}

/**
 * The columns that a header names, in its order.
 * @throws ImportRefused where one is missing, is unknown (it would be lost in silence) or stands there twice
 */
export function importColumns(header: readonly string[]): ImportColumn[] {
  const names = header.map((name) => name.trim().toLowerCase());
  // First of all: without a header, these are a customer's key and address, which are never repeated.
  if (!REQUIRED.every((name) => names.includes(name))) {
    throw new ImportRefused(
      `The first line must name the columns ${REQUIRED.join(' and ')}, with commas or semicolons between.`,
    );
  }
  for (const [i, name] of names.entries()) {
    if (!Object.hasOwn(COLUMNS, name)) {
      const known = Object.keys(COLUMNS).join(', ');
      throw new ImportRefused(`${columnTitle(header[i]!.trim(), i)} is unknown; known are ${known}.`);
    }
    if (names.indexOf(name) !== i) throw new ImportRefused(`The column ${name} stands there twice.`);
  }
  return names as ImportColumn[];
}

/** With its name, where it looks like one and not like something of a customer's. */
function columnTitle(name: string, index: number): string {
  const isName = /^[\p{L}\p{N}][\p{L}\p{N} _.-]{0,39}$/u.test(name) && canonicalLicenseKey(name) === null;
  return isName ? `The column ${name}` : `Column ${index + 1}`;
}

/** Reads a row: its license, whole where there are no faults, and its faults, which never repeat a cell. */
export function readRow(
  columns: readonly ImportColumn[],
  cells: readonly string[],
  defaults: Defaults,
): ReadRow {
  if (cells.length !== columns.length) {
    return { faults: [`the number of cells must be ${columns.length}, as in the header`] };
  }
  const faults: string[] = [];
  const read = <T>(name: ImportColumn, reader: (text: string) => T | null | undefined, empty?: T) => {
    const text = cells[columns.indexOf(name)]?.trim() ?? '';
    const value = text === '' ? empty : (reader(text) ?? undefined);
    if (value === undefined) faults.push(`${name} ${text === '' ? 'is missing' : `must ${COLUMNS[name]}`}`);
    return value;
  };
  const key = read('license_key', canonicalLicenseKey);
  const email = read('email', canonicalEmail);
  const machines_allowed = read('machines_allowed', machines, defaults.machines_allowed);
  const expires = read<Date | 'never'>('expires_at', momentOrNever, 'never');
  const on_expiry = read('on_expiry', stopOrKeep, defaults.on_expiry);
  const expires_at = expires === 'never' ? null : expires;
  return { key, license: { email, machines_allowed, expires_at, on_expiry }, faults };
}

const machines = (text: string) => (/^([1-9]\d{0,4}|100000)$/.test(text) ? Number(text) : null);
const momentOrNever = (text: string) => (text === 'never' ? text : parseMoment(text));
const stopOrKeep = (text: string) => (['stop', 'keep'] as const).find((value) => value === text);

/**
 * Takes over licenses whose holders have their keys already: all of them or none. Of a key, hash and hint are kept.
 * @returns how many
 * @throws ImportRefused with what is wrong in which line
 */
export async function importLicenses(
  { dataSource, config, clock }: { dataSource: DataSource; config: Config; clock: Clock },
  columns: readonly ImportColumn[],
  rows: AsyncIterable<ImportRow>,
  act: Act,
): Promise<number> {
  return dataSource.transaction(async (manager) => {
    // One import at a time: two with the same keys in another order would wait for each other. Requests go on.
    await manager.query('lock table license in share update exclusive mode');
    const at = clock.now();
    const { defaultMachinesPerLicense: machines_allowed, defaultOnExpiry: on_expiry } = config;
    const writing = new Writing(manager, columns, { machines_allowed, on_expiry }, at);
    const batch: ImportRow[] = [];
    for await (const row of rows) {
      if (batch.push(row) === BATCH_ROWS) await writing.add(batch.splice(0));
    }
    await writing.add(batch);
    const licenses = writing.end();
    await recordAudit(manager, act, { action: 'license.import', change: { licenses }, at });
    return licenses;
  });
}

// A key that was replaced is known to others: it never activates a further machine, by no other license either.
const TAKEN = `
  select key_hash from license where key_hash = any($1)
  union select key_hash from replaced_key where key_hash = any($1)`;
// A key that another writes at this moment is waited for. Answers those that were taken.
const INSERT = `
  with given as (
    select * from unnest($1::bytea[], $2::uuid[], $3::text[], $4::text[], $5::integer[], $6::timestamptz[], $7::text[])
      as license (key_hash, id, key_hint, email, machines_allowed, expires_at, on_expiry)
  ), written as (
    insert into license (key_hash, id, key_hint, email, machines_allowed, expires_at, on_expiry, created_at, end_changed_at)
    select given.*, $8::timestamptz, $8 from given
    where not exists (select 1 from replaced_key where key_hash = given.key_hash)
    on conflict (key_hash) do nothing returning id
  )
  select key_hash from given where id not in (select id from written)`;
const REST = ['id', 'key_hint', 'email', 'machines_allowed', 'expires_at', 'on_expiry'] as const;

/** Licenses of a file on their way into the database, in the caller's transaction. */
class Writing {
  /** The line that each key stands in, by its hash. */
  readonly #lines = new Map<string, number>();
  readonly #faults: string[] = [];

  constructor(
    private readonly manager: EntityManager,
    private readonly columns: readonly ImportColumn[],
    private readonly defaults: Defaults,
    private readonly at: Date,
  ) {}

  /** Writes the next rows; from the first fault on it only looks for others. */
  async add(rows: readonly ImportRow[]): Promise<void> {
    const faults: { line: number; what: string }[] = [];
    const licenses: ({ id: string; key_hash: Buffer; key_hint: string } & Partial<NewLicense>)[] = [];
    for (const { line, cells } of rows) {
      const { key, license, faults: wrong } = readRow(this.columns, cells, this.defaults);
      for (const what of wrong) faults.push({ line, what });
      if (key === undefined) continue;
      const key_hash = licenseKeyHash(key);
      const first = this.#lines.get(key_hash.toString('base64'));
      if (first !== undefined) {
        faults.push({ line, what: `this key stands already in line ${first} (O counts as 0, I and L as 1)` });
        continue;
      }
      this.#lines.set(key_hash.toString('base64'), line);
      licenses.push({ id: uuidv7(), key_hash, key_hint: licenseKeyHint(key), ...license });
    }
    const hashes = licenses.map(({ key_hash }) => key_hash);
    const rest = REST.map((name) => licenses.map((license) => license[name]));
    const isClean = this.#faults.length + faults.length === 0;
    const taken = (await (isClean
      ? this.manager.query(INSERT, [hashes, ...rest, this.at])
      : this.manager.query(TAKEN, [hashes]))) as { key_hash: Buffer }[];
    for (const { key_hash } of taken) {
      const line = this.#lines.get(key_hash.toString('base64'))!;
      faults.push({ line, what: 'a license has this key already, or had it until it was replaced' });
    }
    faults.sort((a, b) => a.line - b.line);
    this.#faults.push(...faults.map(({ line, what }) => `line ${line}: ${what}`));
  }

  /** @returns how many were written */
  end(): number {
    const more = this.#faults.length - TOLD_FAULTS;
    const told = [...this.#faults.slice(0, TOLD_FAULTS), ...(more > 0 ? [`… and ${more} more`] : [])];
    if (told.length > 0) throw new ImportRefused('Nothing was imported.', told);
    if (this.#lines.size === 0) throw new ImportRefused('The file holds no licenses.');
    return this.#lines.size;
  }
}
