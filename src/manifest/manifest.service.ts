import { hash } from 'node:crypto';
import { Injectable, OnApplicationBootstrap, BeforeApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { recordAudit, type Act } from '../audit/audit.js';
import { Clock } from '../core/clock.js';
import { Config } from '../core/config.js';
import { Batch } from '../database/batch.js';
import { LOCKS } from '../database/locks.js';
import { AppLogger } from '../core/logger.js';
import { ManifestKeys } from '../keys/manifests/manifest-keys.js';
import {
  assembleManifest,
  outerMatches,
  parseSigned,
  readDocument,
  verifyManifest,
} from '../keys/manifests/signed-manifest.js';
import type { ManifestContent, SignedManifest } from '../keys/manifests/signed-manifest.js';
import { Manifest } from './manifest.entity.js';
import { PublishRefused, refuseUnpublishable, type Live, type Standing } from './manifest.rules.js';
import { PublishedVersions } from './published-versions.js';

/** A published manifest is served by every instance within 5 seconds (contract, manifest). */
const POLL_MS = 2_000;

/** The live manifest as it is sent: the same bytes for everyone. */
export interface LiveManifest extends Live {
  /** Text, not bytes: Node then writes it with its headers in one piece, which takes half the time. */
  readonly body: string;
  readonly etag: string;
}

type Published = Pick<Manifest, 'signed' | 'signatures'>;

/** Holds what is published in memory: serving it never touches the database. */
@Injectable()
export class ManifestService implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown {
  #versions = new PublishedVersions();
  #live: LiveManifest | null = null;
  #timer?: NodeJS.Timeout;
  // A look begins after the calls it answers, and the calls of the same few milliseconds share it.
  readonly #looks = new Batch<null, null>((calls) => this.readNewer().then(() => calls), Infinity, 1);

  constructor(
    private readonly dataSource: DataSource,
    private readonly keys: ManifestKeys,
    private readonly config: Config,
    private readonly clock: Clock,
    private readonly log: AppLogger,
  ) {}

  // A row that cannot be read (of a newer version, say) must not keep licenses from being answered.
  async onModuleInit(): Promise<void> {
    await this.refresh().catch((error: unknown) => this.log.failed('manifests not read', error));
  }

  onApplicationBootstrap(): void {
    // An outage is told by those who need the database; what is live stays live meanwhile.
    const poll = () =>
      void this.refresh().catch((error: unknown) => this.log.failed('manifest poll failed', error));
    this.#timer = setInterval(poll, POLL_MS).unref();
  }

  // Before the connections are closed, on which a last poll would fail.
  beforeApplicationShutdown(): void {
    clearInterval(this.#timer);
  }

  get live(): LiveManifest | null {
    return this.#live;
  }

  /** As of the last look. */
  get versions(): PublishedVersions {
    return this.#versions;
  }

  /** Reads what was published up to this moment. */
  async refresh(): Promise<void> {
    await this.#looks.add(null);
  }

  /**
   * Publishes a manifest: verified, re-parsed, held against the live one under a lock, appended.
   * @param document the JSON document that `mooring manifest sign` printed
   * @param isWithdrawal whether the publisher said that a version is to be taken back
   * @throws ManifestError or PublishRefused, one sentence each
   */
  async publish(document: unknown, act: Act, isWithdrawal = false): Promise<ManifestContent> {
    const content = this.genuine(document);
    const { signed, signatures } = readDocument(document);
    const now = this.clock.now();
    await this.dataSource.transaction(async (manager) => {
      // Publishers take turns: what is live cannot change between the look and the write.
      await manager.query('select pg_advisory_xact_lock($1)', [LOCKS.publish]);
      await this.refresh();
      refuseUnpublishable(content, this.standing(isWithdrawal, now));
      const sequence = String(content.sequence);
      await manager.insert(Manifest, { sequence, signed, signatures, published_at: now });
      const change = { sequence: content.sequence, version: content.version };
      const action = isWithdrawal ? 'manifest.withdraw' : 'manifest.publish';
      await recordAudit(manager, act, { action, change, at: now });
    });
    await this.refresh();
    return content;
  }

  /** Refuses what `publish` would refuse at this moment, and changes nothing. */
  async rehearse(document: unknown, isWithdrawal = false): Promise<ManifestContent> {
    const content = this.genuine(document);
    await this.refresh();
    refuseUnpublishable(content, this.standing(isWithdrawal, this.clock.now()));
    return content;
  }

  /** The document, as it was published, that a withdrawal of the live version goes back to; null where there is none. */
  async beforeLive(): Promise<SignedManifest | null> {
    const before = this.#live && this.#versions.before(this.#live.content.version);
    if (!before) return null;
    const [row] = await this.rowsFrom(before.sequence);
    return assembleManifest(row!.signed, row!.signatures);
  }

  private genuine(document: unknown): ManifestContent {
    const content = verifyManifest(document, this.keys.trusted);
    const differs = outerMatches(document, content);
    if (differs) throw new PublishRefused(`The outer ${differs} differs from the signed one.`);
    return content;
  }

  private standing(isWithdrawal: boolean, now: Date): Standing {
    const { product } = this.config;
    return { live: this.#live, versions: this.#versions, product, now, isWithdrawal };
  }

  private async readNewer(): Promise<void> {
    const live = this.#live;
    if (live) {
      const [same, ...newer] = await this.rowsFrom(live.content.sequence);
      if (same?.signed === live.signed) {
        this.#live = take(newer, this.#versions) ?? live;
        return;
      }
    }
    // The first look, or a database that went back (a restored backup): what it holds counts, not what we remember.
    const versions = new PublishedVersions();
    this.#live = take(await this.rowsFrom(0), versions);
    this.#versions = versions;
  }

  private rowsFrom(sequence: number): Promise<Published[]> {
    const sql = 'select signed, signatures from manifest where sequence >= $1 order by sequence';
    return this.dataSource.query(sql, [sequence]);
  }
}

/** Adds what the rows published to the versions; the last of them is live. */
function take(rows: readonly Published[], versions: PublishedVersions): LiveManifest | null {
  let live: LiveManifest | null = null;
  for (const { signed, signatures } of rows) {
    const content = parseSigned(signed);
    const body = JSON.stringify(assembleManifest(signed, signatures));
    versions.add(content);
    live = { content, signed, body, etag: `"${hash('sha256', body, 'base64url')}"` };
  }
  return live;
}
