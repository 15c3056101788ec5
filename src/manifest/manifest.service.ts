import { hash } from 'node:crypto';
import { Injectable, OnApplicationBootstrap, OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { recordAudit, type Act } from '../audit/audit.js';
import { Clock } from '../clock.js';
import { Config } from '../config.js';
import { Log } from '../http/log.js';
import { ManifestKeys } from '../keys/manifest-keys.js';
import {
  assembleManifest,
  outerMatches,
  parseSigned,
  readDocument,
  verifyManifest,
} from '../keys/signed-manifest.js';
import type { ManifestContent } from '../keys/signed-manifest.js';
import { Manifest } from './manifest.entity.js';
import { PublishedVersions, PublishRefused, refuseUnpublishable } from './manifest.rules.js';

/** A published manifest is served by every instance within 5 seconds (contract, manifest). */
const POLL_MS = 2_000;
const LOCK = 7_026_002;

/** The live manifest as it is sent: the same bytes for everyone. */
export interface LiveManifest {
  readonly content: ManifestContent;
  readonly signed: string;
  readonly body: Buffer;
  readonly etag: string;
}

/** Holds what is published in memory: serving it never touches the database. */
@Injectable()
export class ManifestService implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  readonly #versions = new PublishedVersions();
  #live: LiveManifest | null = null;
  #timer?: NodeJS.Timeout;
  #refreshing?: Promise<void>;

  constructor(
    private readonly dataSource: DataSource,
    private readonly keys: ManifestKeys,
    private readonly config: Config,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  async onModuleInit(): Promise<void> {
    await this.refresh();
  }

  onApplicationBootstrap(): void {
    // An outage is told by those who need the database; what is live stays live meanwhile.
    const poll = () =>
      void this.refresh().catch((error: unknown) => this.log.failed('manifest poll failed', error));
    this.#timer = setInterval(poll, POLL_MS).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.#timer);
  }

  get live(): LiveManifest | null {
    return this.#live;
  }

  /** As of the last poll. */
  get versions(): PublishedVersions {
    return this.#versions;
  }

  /** Reads what was published since the last look; calls at the same time share one look. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.readNewer().finally(() => (this.#refreshing = undefined));
    return this.#refreshing;
  }

  /**
   * Publishes a manifest: verified, re-parsed, held against the live one under a lock, appended.
   * @param document the JSON document that `mooring manifest sign` printed
   * @throws ManifestError or PublishRefused, one sentence each
   */
  async publish(document: unknown, act: Act): Promise<ManifestContent> {
    const content = verifyManifest(document, this.keys.trusted);
    const { signed, signatures } = readDocument(document);
    const differs = outerMatches(document, content);
    if (differs) throw new PublishRefused(`The outer ${differs} differs from the signed one.`);
    const now = this.clock.now();
    await this.dataSource.transaction(async (manager) => {
      // Publishers take turns: what is live cannot change between the look and the write.
      await manager.query('select pg_advisory_xact_lock($1)', [LOCK]);
      // Not `refresh`, which may share a look that began before the lock.
      await this.readNewer();
      refuseUnpublishable(
        content,
        this.#live,
        this.#versions.find(content.version),
        this.config.product,
        now,
      );
      const sequence = String(content.sequence);
      await manager.insert(Manifest, { sequence, signed, signatures, published_at: now });
      await recordAudit(manager, act, 'manifest.publish', null, now);
    });
    await this.refresh();
    return content;
  }

  private async readNewer(): Promise<void> {
    const since = this.#live?.content.sequence ?? 0;
    const rows = (await this.dataSource.query(
      'select signed, signatures from manifest where sequence > $1 order by sequence',
      [since],
    )) as Pick<Manifest, 'signed' | 'signatures'>[];
    for (const { signed, signatures } of rows) {
      const content = parseSigned(signed);
      // Another look may have been quicker.
      if (content.sequence <= (this.#live?.content.sequence ?? 0)) continue;
      const body = Buffer.from(JSON.stringify(assembleManifest(signed, signatures)));
      this.#versions.add(content);
      this.#live = { content, signed, body, etag: `"${hash('sha256', body, 'base64url')}"` };
    }
  }
}
