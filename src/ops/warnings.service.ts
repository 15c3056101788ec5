import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock, utcDay } from '../clock.js';
import { Config } from '../config.js';
import { KeyRing } from '../keys/key-ring.js';
import { waitingMail } from '../mail/waiting-mail.js';
import { ManifestService } from '../manifest/manifest.service.js';

const DAY_MS = 86_400_000;
/** A mail server that asks for patience once or twice is no trouble yet. */
const MAIL_ATTEMPTS = 3;
/** The publisher is warned this long before the live manifest expires (keys, refresh). */
const MANIFEST_WARNING_DAYS = 14;

/** Watches the age of the data, not the success of a job: whatever went wrong, this is what it would show as. */
@Injectable()
export class WarningsService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly manifests: ManifestService,
    @Inject(KeyRing) private readonly ring: Pick<KeyRing, 'trouble'>,
    private readonly clock: Clock,
    private readonly config: Config,
  ) {}

  /** One sentence each, nothing personal; empty where all is well. */
  async warnings(): Promise<string[]> {
    return [...(await this.ofData()), ...(await this.ofMail()), ...this.ofManifest(), ...this.ofKeys()];
  }

  private async ofData(): Promise<string[]> {
    try {
      const [inbox] = (await this.dataSource.query(
        'select min(received_on)::text as oldest from telemetry_inbox',
      )) as { oldest: string | null }[];
      // Yesterday's rows move a few minutes after midnight; those of the day before should be gone.
      const limit = utcDay(new Date(this.clock.now().getTime() - DAY_MS));
      const late = inbox?.oldest && inbox.oldest < limit;
      return late ? [`The telemetry inbox holds rows of ${inbox.oldest}, which should have moved.`] : [];
    } catch {
      return ['The database does not answer.'];
    }
  }

  private async ofMail(): Promise<string[]> {
    if (this.config.production && !this.config.smtpUrl) {
      return ['SMTP_URL is not set: mail is written to DATA_DIR/outbox and reaches nobody.'];
    }
    const { failing } = await waitingMail(this.dataSource).catch(() => ({ failing: [] }));
    const late = failing.filter(({ attempts }) => attempts >= MAIL_ATTEMPTS);
    const reasons = Map.groupBy(late, ({ reason }) => reason);
    return [...reasons].map(
      ([reason, mails]) =>
        `Undelivered mails: ${mails.length}, because ${reason}; mooring status names them.`,
    );
  }

  private ofKeys(): string[] {
    return this.ring.trouble ? ['The token keys on disk cannot be used; the log says why.'] : [];
  }

  private ofManifest(): string[] {
    const expires_at = this.manifests.live?.content.expires_at;
    if (!expires_at) return [];
    const left = Date.parse(expires_at) - this.clock.now().getTime();
    if (left <= 0) return [`The live manifest expired at ${expires_at}.`];
    return left < MANIFEST_WARNING_DAYS * DAY_MS ? [`The live manifest expires at ${expires_at}.`] : [];
  }
}
