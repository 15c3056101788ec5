import { setTimeout as wait } from 'node:timers/promises';
import { BeforeApplicationShutdown, Injectable, OnApplicationBootstrap } from '@nestjs/common';
import type pg from 'pg';
import { DataSource } from 'typeorm';
import { Clock } from '../core/clock.js';
import { Config } from '../core/config.js';
import { AppLogger } from '../core/logger.js';
import { waitAtShutdown } from '../core/shutdown-wait.js';
import { isTemporaryDatabaseError } from '../database/temporary-errors.js';
import { DatabaseUrl, jobsPool } from '../database/data-source.js';
import { queryPrepared } from '../database/sql.js';
import { claimEvents, settleAttempts, type Attempt, type ClaimedEvent } from './event-outbox.js';
import { startRecording } from './event-recording.js';
import { EventSender } from './event-sender.js';
import { EVENT_TIMES } from './outgoing-event.js';

/** The number of events that an instance sends at the same time, each of another license. */
const CONCURRENT_EVENTS = 16;
/** At the shutdown, events that are still being sent after this time are left to another instance. */
const SHUTDOWN_GRACE_MS = 1_500;

/**
 * Sends the events that `record_event` of the database recorded (docs/decisions/0050). Every instance with EVENTS_URL does so. The
 * events of a license are sent in their order: an event is sent when the one before it was acknowledged or given up.
 */
@Injectable()
export class EventDispatcher implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #sender: EventSender | undefined;
  readonly #stop = new AbortController();
  /** Aborted SHUTDOWN_GRACE_MS after `#stop`. */
  readonly #abandon = new AbortController();
  #ended: Promise<void> = Promise.resolve();
  #delivered = 0;

  constructor(
    config: Config,
    private readonly dataSource: DataSource,
    private readonly databaseUrl: DatabaseUrl,
    private readonly clock: Clock,
    private readonly log: AppLogger,
  ) {
    this.#sender = config.eventEndpoint && new EventSender(config.eventEndpoint);
  }

  /** If the recording of events is off, a start with EVENTS_URL turns it on, before the instance accepts a request. */
  async onApplicationBootstrap(): Promise<void> {
    if (!this.#sender) return;
    await startRecording(this.dataSource, this.clock.now());
    this.#ended = this.#run(this.#sender);
  }

  async beforeApplicationShutdown(): Promise<void> {
    if (!this.#sender) return;
    const [startedAt, deliveredBefore] = [performance.now(), this.#delivered];
    this.#stop.abort();
    setTimeout(() => this.#abandon.abort(), SHUTDOWN_GRACE_MS).unref();
    await waitAtShutdown(this.#ended);
    const milliseconds = Math.round(performance.now() - startedAt);
    // `done` counts the events that were delivered since the shutdown began, as in `jobs ended`.
    this.log.info('events ended', { done: this.#delivered - deliveredBefore, milliseconds });
  }

  async #run(sender: EventSender): Promise<void> {
    const { signal } = this.#stop;
    const pool = jobsPool(this.databaseUrl.value, 1);
    while (!signal.aborted) {
      const pauseMs = await this.#sendDue(sender, pool).catch((error: unknown) => {
        if (!signal.aborted && !isTemporaryDatabaseError(error)) this.log.failed('events not sent', error);
        return EVENT_TIMES.failurePauseMs;
      });
      await wait(pauseMs, undefined, { signal }).catch(() => undefined);
    }
    await pool.end();
  }

  /** Sends a round of events. @returns the pause before the next round, in milliseconds */
  async #sendDue(sender: EventSender, pool: pg.Pool): Promise<number> {
    const attempts = await inTransaction(pool, async (client) => {
      const events = await claimEvents(client, CONCURRENT_EVENTS);
      const made = await Promise.all(events.map((event) => this.#attempt(sender, event)));
      // After the abort no failure is stored, because most were caused by the shutdown. Another instance sends these events.
      const settled = made.filter(({ error }) => error === null || !this.#abandon.signal.aborted);
      if (settled.length > 0) await settleAttempts(client, settled, this.clock.now());
      return settled;
    });
    const delivered = attempts.filter(({ error }) => error === null).length;
    this.#delivered += delivered;
    if (attempts.length === 0) return EVENT_TIMES.pollMs;
    return delivered === 0 ? EVENT_TIMES.failurePauseMs : 0;
  }

  async #attempt(sender: EventSender, event: ClaimedEvent): Promise<Attempt> {
    const error = await sender.send(event, this.clock.now(), this.#abandon.signal);
    if (error !== null && !this.#abandon.signal.aborted) {
      const fields = { event_id: event.id, type: event.type, attempts: event.attempts + 1, reason: error };
      this.log.warning('event not delivered', fields);
    }
    return { event, error };
  }
}

/** Runs `work` in a transaction, which holds its locks until the end of `work`. A client whose transaction failed is closed. */
async function inTransaction<Result>(
  pool: pg.Pool,
  work: (client: pg.ClientBase) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  try {
    await queryPrepared(client, { name: 'begin', text: 'begin' });
    const result = await work(client);
    await queryPrepared(client, { name: 'commit', text: 'commit' });
    client.release();
    return result;
  } catch (error) {
    client.release(true);
    throw error;
  }
}
