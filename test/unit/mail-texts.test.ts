import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import type { DataSource, EntityManager } from 'typeorm';
import { Config } from '../../src/core/config.js';
import { LicenseKeys } from '../../src/keys/license-keys.js';
import { LicenseMails } from '../../src/licenses/license-mails.js';
import { isKeyMailable, mailableKey } from '../../src/licenses/mailable-key.js';
import type { Language } from '../../src/languages/language.js';
import type { JobWorker } from '../../src/mail/job-worker.js';
import { JobFailure } from '../../src/mail/jobs.js';
import { messageText, type MailMessage } from '../../src/mail/mail-message.js';
import { enqueueMail, type MailService } from '../../src/mail/mail.service.js';
import { ErasureMails } from '../../src/erasure/erasure-mails.js';
import type { ErasureService } from '../../src/erasure/erasure.service.js';
import { english } from '../support/languages.js';

const config = new Config({
  MAIL_FROM: 'Example App <licenses@example.com>',
  PUBLIC_URL: 'https://licenses.example.org/shop',
});
const PORTAL = 'https://licenses.example.org/shop/portal/';
const keys = new LicenseKeys(Buffer.alloc(32, 7), 'MOOR');
const ID = randomUUID();

type ComposeMail = (id: string, language: Language) => Promise<MailMessage | null>;

/** Collects the mails that a service registers; its fake database answers each query with these rows. */
class Mails {
  readonly queryValues: unknown[] = [];
  readonly #composers = new Map<string, ComposeMail>();
  readonly mail = {
    register: (kind: string, compose: ComposeMail) => void this.#composers.set(kind, compose),
  } as unknown as MailService;
  readonly dataSource: DataSource;

  constructor(rows: object[]) {
    const query = async (_sql: string, values: unknown[]) => (this.queryValues.push(...values), rows);
    this.dataSource = { query, manager: { query } } as unknown as DataSource;
  }

  get kinds(): string[] {
    return [...this.#composers.keys()];
  }

  async compose(kind: string): Promise<(Omit<MailMessage, 'body'> & { text: string }) | null> {
    const mail = await this.#composers.get(kind)!(ID, english);
    return mail && { to: mail.to, subject: mail.subject, text: messageText(mail, english) };
  }
}

describe('the mails about a license', () => {
  const { license_key, key_hash } = keys.derive(ID, 2);
  const license = {
    id: ID,
    key_hash,
    key_generation: 2,
    email: 'ada@example.com',
    machines_allowed: 3,
    expires_at: null,
    purchase_state: null,
    previous_key_hint: null,
  };

  function mailsOf(...rows: object[]): Mails {
    const mails = new Mails(rows);
    new LicenseMails(mails.mail, mails.dataSource, keys, config).onModuleInit();
    return mails;
  }

  test.each([
    [
      'license_key',
      'Your license key for Example App',
      'Thank you for buying Example App. This is your license key:',
    ],
    [
      'license_key_again',
      'Your license key for Example App',
      'This is your license key for Example App once more:',
    ],
    [
      'license_key_replaced',
      'Your new license key for Example App',
      'Your license key for Example App was replaced. The old key activates no further machine; machines that are active stay active. This is the new key:',
    ],
  ])('%s has the key, and all that is needed to enter it', async (kind, subject, opening) => {
    const mails = mailsOf(license);
    expect(await mails.compose(kind)).toEqual({
      to: 'ada@example.com',
      subject,
      text: [
        `${opening}\n`,
        `    ${license_key}\n`,
        'E-mail address: ada@example.com\nMachines: 3\n',
        'To activate Example App on a machine:\n',
        '1. Open Example App on the machine.\n2. When it asks for your license, enter the license key and the e-mail address above.\n3. Confirm. The machine needs to be online for this.\n',
        'Keep this mail. The machines that use your license are listed here:\n',
        `${PORTAL}\n`,
      ].join('\n'),
    });
    expect(mails.queryValues).toEqual([ID]);
    const expiring = { ...license, expires_at: new Date('2027-01-04T00:00:00Z') };
    expect((await mailsOf({ ...expiring, on_expiry: 'keep' }).compose(kind))!.text).toContain(
      'Machines: 3\nUpdates: through 3 January 2027\n',
    );
    expect((await mailsOf({ ...expiring, on_expiry: 'stop' }).compose(kind))!.text).toContain(
      'Machines: 3\nRuns: through 3 January 2027\n',
    );
  });

  test('no key is mailed for a license that is erased, refunded, revoked or deleted', async () => {
    for (const rows of [
      [],
      [{ ...license, email: null }],
      [{ ...license, purchase_state: 'refunded' }],
      [{ ...license, staff_status: 'revoked' }],
    ])
      expect(await mailsOf(...rows).compose('license_key')).toBeNull();
    expect(await mailsOf({ ...license, purchase_state: 'disputed' }).compose('license_key')).not.toBeNull();
  });

  test('a key that cannot be mailed has a reason', async () => {
    const activeLicense = { ...license, staff_status: 'active' as const };
    const cases = [
      ['erased', { ...activeLicense, email: null }],
      ['refunded', { ...activeLicense, purchase_state: 'refunded' as const }],
      ['revoked', { ...activeLicense, staff_status: 'revoked' as const }],
      ['not_made_here', { ...activeLicense, key_generation: 3 }],
    ] as const;
    const reasonOf = (...rows: object[]) => mailableKey(mailsOf(...rows).dataSource.manager, keys, ID);
    for (const [reason, facts] of cases)
      expect([await reasonOf(facts), isKeyMailable(keys, facts)]).toEqual([reason, false]);
    // A license that does not exist counts as erased.
    expect(await reasonOf()).toBe('erased');
    expect([await reasonOf(activeLicense), isKeyMailable(keys, activeLicense)]).toEqual([
      expect.objectContaining({ license_key }),
      true,
    ]);
  });

  test('the mail fails if the derived key is not the key of the license', async () => {
    const unknown = mailsOf({ ...license, key_generation: 3 });
    await expect(unknown.compose('license_key')).rejects.toThrow(JobFailure);
  });

  test('the mail about a change of address names neither address', async () => {
    const mails = mailsOf();
    expect(await mails.compose('email_changed')).toEqual({
      to: null,
      subject: 'The e-mail address of your license for Example App has changed',
      text: [
        'The e-mail address of a license for Example App has changed. This mail goes to the old address and to the new one.\n',
        'The license key stays as it is, and machines that are active stay active. To activate another machine, enter the key together with the new address.\n',
        'If you did not ask for this, please answer this mail.\n',
      ].join('\n'),
    });
    expect(mails.queryValues).toEqual([]);
  });

  /** A machine with its license, without its label and its end. */
  const machine = {
    email: 'ada@example.com',
    key_hint: 'X6',
    activation_id: '0198f3c2-7b1a-7c3d-9e4f-a1b2c3d46fe0',
    app_version: '3.2.0',
    activated_at: new Date('2026-11-20T13:00:00Z'),
  };

  test('the mail about a release names the machine, its times and the end of the key', async () => {
    const released = {
      ...machine,
      hostname_hint: 'Studio Mac',
      ended_at: new Date('2026-11-21T14:00:00Z'),
      release_reason: null,
    };
    const mails = mailsOf(released);
    expect(await mails.compose('binding_released')).toEqual({
      to: 'ada@example.com',
      subject: 'A machine was released from your license for Example App',
      text: [
        'A machine was released from your license for Example App. Its place is free for another one; on the released machine Example App has to be activated again.\n',
        'Machine: Studio Mac\nActivated: 20 November 2026 at 13:00 UTC with version 3.2.0\nActivation id: ends in 6fe0\nLicense key: ends in X6\nReleased: 21 November 2026 at 14:00 UTC\n',
        'If this was a mistake, activate the machine again. Your machines are listed here:\n',
        `${PORTAL}\n`,
      ].join('\n'),
    });
    expect(mails.queryValues).toEqual([ID]);
    const byStaff = await mailsOf({ ...released, release_reason: 'Sold' }).compose('binding_released');
    expect(byStaff!.text).toContain('Released: 21 November 2026 at 14:00 UTC\nReason: Sold\n');
    const nameless = await mailsOf({ ...released, hostname_hint: null }).compose('binding_released');
    expect(nameless!.text).toContain('Machine: Unnamed machine\n');
    expect(await mailsOf().compose('binding_released')).toBeNull();
  });

  test('the mail about a new activation names the machine, unless it was released meanwhile', async () => {
    const active = {
      ...machine,
      hostname_hint: "Ada's MacBook Air",
      ended_at: null,
    };
    expect(await mailsOf(active).compose('activation_created')).toEqual({
      to: 'ada@example.com',
      subject: "“Ada's MacBook Air” now uses your license for Example App",
      text: [
        "“Ada's MacBook Air” now uses your license for Example App.\n",
        "Machine: Ada's MacBook Air\nActivated: 20 November 2026 at 13:00 UTC with version 3.2.0\nActivation id: ends in 6fe0\nLicense key: ends in X6\n",
        'If this was not you, see this machine among yours here, and release it if you do not know it:\n',
        `${PORTAL}#activation=${ID}\n`,
      ].join('\n'),
    });
    const nameless = await mailsOf({ ...active, hostname_hint: null }).compose('activation_created');
    expect(nameless!.subject).toBe('An unnamed machine now uses your license for Example App');
    const released = { ...active, ended_at: new Date('2026-11-21T14:00:00Z') };
    expect(await mailsOf(released).compose('activation_created')).toBeNull();
    expect(await mailsOf().compose('activation_created')).toBeNull();
  });

  test('a mail is queued under the id of what it is about, so that it is queued only once', async () => {
    let queryValues: unknown[] = [];
    const query = async (_sql: string, values: unknown[]) => {
      queryValues = values;
      return [{ id: '1' }];
    };
    const manager = { query } as unknown as EntityManager;
    await enqueueMail(manager, 'binding_released', ID, new Date(), { language: 'de' });
    expect(queryValues).toEqual(expect.arrayContaining(['mail_binding_released', `binding_released ${ID}`]));
    expect(JSON.parse(queryValues[1] as string)).toMatchObject({ about: ID, language: 'de' });
  });

  test.each(['license_key_imported', 'license_key_again'])(
    '%s says which key of another system the new key replaces',
    async (kind) => {
      const mail = await mailsOf({ ...license, previous_key_hint: '4F2A' }).compose(kind);
      expect(mail!.text).toContain(
        `Your license for Example App has a new key. It replaces your key ending in 4F2A. This is the new key:\n\n    ${license_key}\n`,
      );
    },
  );

  test.each(['license_key', 'license_key_replaced'])('%s names no key of another system', async (kind) => {
    const mail = await mailsOf({ ...license, previous_key_hint: '4F2A' }).compose(kind);
    expect(mail).toEqual(await mailsOf(license).compose(kind));
  });

  test('license_key_imported names no replaced key if the license has no key of another system any more', async () => {
    const imported = await mailsOf(license).compose('license_key_imported');
    const again = await mailsOf(license).compose('license_key_again');
    expect(imported).toEqual({ ...again, subject: 'Your new license key for Example App' });
  });

  test('are these, and no other', () => {
    expect(mailsOf().kinds).toEqual([
      'license_key',
      'license_key_again',
      'license_key_replaced',
      'license_key_imported',
      'email_changed',
      'activation_created',
      'binding_released',
    ]);
  });
});

describe('the mails about an erasure', () => {
  async function mailsOf(...rows: object[]): Promise<Mails> {
    const mails = new Mails(rows);
    const erasures = {} as ErasureService;
    const jobs = { register: () => undefined } as unknown as JobWorker;
    await new ErasureMails(erasures, mails.dataSource, mails.mail, jobs, config).onModuleInit();
    return mails;
  }

  test('the mail about a request says when it is carried out, and where it can be cancelled', async () => {
    const runs_at = new Date('2026-11-23T13:00:00Z');
    const mails = await mailsOf({ email: 'ada@example.com', runs_at });
    expect(await mails.compose('erasure_requested')).toEqual({
      to: 'ada@example.com',
      subject: 'You asked for your data with Example App to be deleted',
      text: [
        'We were asked to delete what we hold about you with Example App. This ends your licenses on all machines, for good.\n',
        'It happens on 23 November 2026. For 3 days you can take it back here:\n',
        `${PORTAL}\n`,
        'If you did not ask for this, take it back now, or answer this mail.\n',
      ].join('\n'),
    });
    expect(mails.queryValues).toEqual([ID]);
    expect(await (await mailsOf()).compose('erasure_requested')).toBeNull();
  });

  test('a receipt says what was deleted, what stays and until when', async () => {
    const honoured_at = new Date('2026-11-23T13:00:00Z');
    const erased = { licenses: 2, activations: 5, purchases: 1, purchases_kept_until: '2036-12-31' };
    const mails = await mailsOf({ honoured_at, erased });
    const receipt = await mails.compose('erasure_receipt');
    const [deleted, counts, keptByLaw, keptForMonths, ...others] = receipt!.text.split('\n\n');
    expect([receipt!.to, receipt!.subject, mails.queryValues]).toEqual([
      null,
      'Your data with Example App was deleted',
      [ID],
    ]);
    expect(deleted).toBe(
      'What we held about you with Example App was deleted on 23 November 2026: your e-mail address, the names you gave your machines, and their ids. Your licenses have ended.',
    );
    expect(counts).toBe('Licenses: 2\nActivations: 5\nPurchases: 1');
    expect(keptByLaw).toBe(
      'For tax and refunds, the law requires us to keep some data of each purchase: the payment processor’s transaction id, its status and its day, until 31 December 2036 at the latest.',
    );
    expect(keptForMonths).toBe(
      'Of the licenses and activations, the data that is not personal (ids, states and dates) is kept for 12 months.',
    );
    expect(others).toEqual([
      'Telemetry, if you sent any, holds no link to you, to a license or to a machine, so it cannot be found for one person. It is deleted after 24 months.',
      'The last traces are removed from the files of the database within 25 days. Copies in backups are deleted with the backups. If a backup is restored before, your data is deleted from it again.',
      'Your address was needed only to send this mail. It is deleted as well, once the mail is sent.\n',
    ]);
    const withoutPurchases = { ...erased, purchases: 0, purchases_kept_until: null };
    const shorter = await (
      await mailsOf({ honoured_at, erased: withoutPurchases })
    ).compose('erasure_receipt');
    expect(shorter!.text).toBe(
      receipt!.text.replace('Purchases: 1', 'Purchases: 0').replace(`${keptByLaw}\n\n`, ''),
    );
    expect(await (await mailsOf()).compose('erasure_receipt')).toBeNull();
  });

  test('are registered with the job that carries out a request', async () => {
    const mails = new Mails([]);
    const calls: unknown[] = [];
    let work: ((payload: Readonly<Record<string, string>>) => Promise<unknown>) | undefined;
    const erasures = {
      runQueued: async (...parameters: unknown[]) => void calls.push(...parameters),
    } as unknown as ErasureService;
    const jobs = {
      register: (task: string, run: typeof work) => {
        calls.push(task);
        work = run;
      },
    } as unknown as JobWorker;
    new ErasureMails(erasures, mails.dataSource, mails.mail, jobs, config).onModuleInit();
    await work!({ erasure_id: ID, language: 'de', asked_by: 'staff' });
    expect([...mails.kinds]).toEqual(['erasure_requested', 'erasure_receipt']);
    expect(calls).toEqual(['erasure', ID, { language: 'de', asked_by: 'staff' }]);
  });
});
