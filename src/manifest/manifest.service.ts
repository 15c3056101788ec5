import { Injectable, OnApplicationBootstrap, BeforeApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { recordAudit, type AuditContext } from '../audit/audit.js';
import { Clock } from '../core/clock.js';
import { Config } from '../core/config.js';
import { Batch } from '../database/batch.js';
import { LOCKS } from '../database/locks.js';
import { errorFields, AppLogger } from '../core/logger.js';
import { execute, queryRows, type SqlConnection } from '../database/sql.js';
import { ManifestKeys } from '../keys/manifests/manifest-keys.js';
import {
  assembleManifest,
  findDifferingUnsignedMember,
  hasWrongSignature,
  parseSigned,
  readDocument,
  verifyManifest,
} from '../keys/manifests/signed-manifest.js';
import type { ManifestContent, SignedManifest } from '../keys/manifests/signed-manifest.js';
import { PublishError, refuseUnpublishable, type LiveContent } from './manifest.rules.js';
import { PublishedVersions } from './published-versions.js';

/** Each instance serves a published manifest within 5 seconds (docs/contract.md#update-manifest). */
const MANIFEST_POLL_MS = 2_000;

const INSERT_MANIFEST =
  'insert into manifest (sequence, signed, signatures, published_at) values ($1, $2, $3, $4)';

/** The live manifest as it is sent. */
export interface LiveManifest extends LiveContent {
  /** The body is a string, because Node writes it together with the headers, which takes half the time of a buffer. */
  readonly body: string;
}

type PublishedRow = Pick<SignedManifest, 'signed' | 'signatures'>;
type Published = Pick<ManifestService, 'live' | 'versions'>;

/**
 * Keeps the live manifest and the published versions in memory, so that serving the manifest needs no database.
 * The file is long, because serving and publishing are in one class: both read the published manifests in the same way.
 */
@Injectable()
export class ManifestService implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown {
  #versions = new PublishedVersions();
  #live: LiveManifest | null = null;
  /** Undefined before and after the time in which the service polls. */
  #timer: NodeJS.Timeout | undefined;
  // A call joins the next refresh that begins, never a running one, so its caller sees what was published before the call. One
  // refresh serves any number of calls (`Infinity`), and one runs at a time (`1`). A batch must return one result for each call: it
  // returns the calls themselves, which are null.
  readonly #refreshes = new Batch<null, null>(
    (calls) => this.readNewerManifests().then(() => calls),
    Infinity,
    1,
  );

  constructor(
    private readonly dataSource: DataSource,
    private readonly keys: ManifestKeys,
    private readonly config: Config,
    private readonly clock: Clock,
    private readonly log: AppLogger,
  ) {}

  // A failure must not keep the service from starting: a newer version of Mooring may have written a row that this one cannot read.
  async onModuleInit(): Promise<void> {
    await this.refresh().catch((error: unknown) => this.log.failed('manifests not read', error));
  }

  onApplicationBootstrap(): void {
    // During an outage of the database the service continues to serve the manifest in memory.
    let lastFailure: string | undefined;
    const poll = () =>
      void this.refresh().then(
        () => (lastFailure = undefined),
        (error: unknown) => {
          // A failure that repeats is logged once: an outage has hundreds of polls.
          const { code, at } = errorFields(error);
          const failure = `${String(code)} ${String(at)}`;
          if (this.#timer && failure !== lastFailure) this.log.failed('manifest poll failed', error);
          lastFailure = failure;
        },
      );
    this.#timer = setInterval(poll, MANIFEST_POLL_MS).unref();
  }

  // Polling stops before the connections are closed. A slow poll may still be running then, and its failure means nothing.
  beforeApplicationShutdown(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  get live(): LiveManifest | null {
    return this.#live;
  }

  /** The versions as of the last refresh. */
  get versions(): PublishedVersions {
    return this.#versions;
  }

  /** Updates the manifests in memory: afterwards they include each one that was published before this call. */
  async refresh(): Promise<void> {
    await this.#refreshes.add(null);
  }

  /**
   * Publishes a manifest: verifies its signatures, checks it against the live manifest under a lock, and inserts it, unless it is
   * live already.
   * @param document the JSON document that `mooring manifest sign`, `refresh` or `withdraw` wrote
   * @param isWithdrawal whether the publisher requested a withdrawal
   * @throws ManifestError or PublishError with one sentence
   */
  async publish(document: unknown, audit: AuditContext, isWithdrawal = false): Promise<ManifestContent> {
    const content = this.verify(document);
    const { signed, signatures } = readDocument(document);
    const now = this.clock.now();
    await this.dataSource.transaction(async (manager) => {
      // The lock serializes publishers: the live manifest cannot change between the check and the insert.
      await execute(manager, 'select pg_advisory_xact_lock($1)', [LOCKS.publish]);
      // The manifests are read over the connection of this transaction: all others of the pool may be waiting for the lock.
      const published = await readAllPublished(manager);
      const isRepeated = this.checkAgainst(published, document, content, isWithdrawal);
      if (isRepeated) return;
      await execute(manager, INSERT_MANIFEST, [content.sequence, signed, JSON.stringify(signatures), now]);
      const before = published.live && auditNames(published.live.content);
      const change = { ...auditNames(content), ...(before && { before }) };
      const action = isWithdrawal ? 'manifest.withdraw' : 'manifest.publish';
      await recordAudit(manager, audit, { action, change, at: now });
    });
    // The manifest is published, and if this fails, the next poll reads it.
    await this.refresh().catch((error: unknown) => this.log.failed('published manifest not read', error));
    return content;
  }

  /** Makes the checks of `publish` without publishing. @throws ManifestError or PublishError with one sentence */
  async checkPublishable(document: unknown, isWithdrawal = false): Promise<ManifestContent> {
    const content = this.verify(document);
    await this.refresh();
    this.checkAgainst(this, document, content, isWithdrawal);
    return content;
  }

  /** Finds the manifest of the version that becomes live if the live version is withdrawn; null if there is none. */
  async findWithdrawalTarget(): Promise<SignedManifest | null> {
    const target = this.#live && this.#versions.newestBelow(this.#live.content.version);
    if (!target) return null;
    const [row] = await readRowsFrom(this.dataSource, target.sequence);
    return assembleManifest(row!.signed, row!.signatures);
  }

  /**
   * Checks a verified manifest against the published ones.
   * @returns whether exactly this manifest is live, so that its publication changes nothing @throws PublishError
   */
  private checkAgainst(
    { live, versions }: Published,
    document: unknown,
    content: ManifestContent,
    isWithdrawal: boolean,
  ): boolean {
    const isRepeated = live?.body === bodyOf(readDocument(document));
    const { product } = this.config;
    const now = this.clock.now();
    refuseUnpublishable(content, { live, versions, product, now, isWithdrawal, isRepeated });
    return isRepeated;
  }

  private verify(document: unknown): ManifestContent {
    const content = verifyManifest(document, this.keys.trusted);
    if (hasWrongSignature(document, this.keys.trusted))
      throw new PublishError(
        'A signature of a trusted key is wrong: applications that trust only this key would refuse the manifest.',
      );
    const differingMember = findDifferingUnsignedMember(document, content);
    if (differingMember)
      throw new PublishError(`The unsigned copy of ${differingMember} differs from the signed value.`);
    return content;
  }

  private async readNewerManifests(): Promise<void> {
    const live = this.#live;
    if (live) {
      const [current, ...newer] = await readRowsFrom(this.dataSource, live.content.sequence);
      if (current?.signed === live.signed) {
        this.#live = applyPublished(newer, this.#versions) ?? live;
        return;
      }
    }
    // At the first read, and after a backup was restored, all manifests in memory are replaced.
    ({ live: this.#live, versions: this.#versions } = await readAllPublished(this.dataSource));
  }
}

function readRowsFrom(database: SqlConnection, sequence: number): Promise<PublishedRow[]> {
  const sql = 'select signed, signatures from manifest where sequence >= $1 order by sequence';
  return queryRows<PublishedRow>(database, sql, [sequence]);
}

async function readAllPublished(database: SqlConnection): Promise<Published> {
  const versions = new PublishedVersions();
  return { live: applyPublished(await readRowsFrom(database, 0), versions), versions };
}

/** The members by which the audit trail names a manifest. */
const auditNames = ({ sequence, version }: ManifestContent) => ({ sequence, version });

/** Adds the versions of the manifests in the rows. @returns the manifest of the last row, which is live; null without rows */
function applyPublished(rows: readonly PublishedRow[], versions: PublishedVersions): LiveManifest | null {
  // All rows are read before the first version is added, so that a row that cannot be parsed changes nothing.
  const manifests = rows.map(readPublished);
  for (const { content } of manifests) versions.add(content);
  return manifests.at(-1) ?? null;
}

function readPublished({ signed, signatures }: PublishedRow): LiveManifest {
  return { content: parseSigned(signed), signed, body: bodyOf({ signed, signatures }) };
}

const bodyOf = ({ signed, signatures }: PublishedRow) => JSON.stringify(assembleManifest(signed, signatures));
