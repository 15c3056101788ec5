import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ErasureService } from '../../src/erasure/erasure.service.js';
import type { Erasure } from '../../src/http/responses/api-types.js';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import { parseMail } from '../mail/message.js';
import { AUDIT_CONTEXT, type Service } from '../support/harness.js';
import { formsOfText, type Form } from '../support/leak-search.js';
import { until } from '../support/until.js';

/** Records a paid purchase. @returns the id of its license */
export async function sell(service: Service, email: string, transaction_id: string): Promise<string> {
  const report = { transaction_id, email, status: 'paid' } as const;
  return (await service.app.get(PurchasesService).record(report)).license_id!;
}

/** Headers with the token of a staff member with this role. */
export async function staffHeaders(
  service: Service,
  role: 'support' | 'admin',
): Promise<{ authorization: string }> {
  return { authorization: `Bearer ${await service.staffToken(role, `${role}@staff.example`)}` };
}

/**
 * Waits until the queue has no job whose task matches this SQL pattern, except jobs that are not due yet, such as that of a
 * holder's request in the first three days. A job that failed and is repeated later is waited for.
 */
export async function waitForJobs(service: Service, taskPattern = '%'): Promise<void> {
  const sql =
    'select 1 from graphile_worker.jobs where task_identifier like $1 and (run_at <= now() or attempts > 0)';
  await until(async () => (await service.sql(sql, [taskPattern])).length === 0);
}

/** Does in a running service what a start does with the tombstone file (`ErasureReplay`). */
export const repeatErasures = ({ app }: Service) => app.get(ErasureService).replay();

/** Removes licenses, requests and tombstones, so that another test can use the service. */
export async function clear(service: Service): Promise<void> {
  await waitForJobs(service);
  await service.sql('truncate graphile_worker._private_jobs');
  await service.sql(
    `truncate license, purchase, erasure_request, repeated_erasure, session, one_time_code, mail_recipient cascade`,
  );
  await rm(join(service.dataDir, 'erased.txt'), { force: true });
  await repeatErasures(service);
}

/** Waits until all mails with a stored recipient are sent: the row of such a mail in `mail_recipient` is deleted then. */
export const waitForSentMails = (service: Service) =>
  until(async () => (await service.sql('select 1 from mail_recipient')).length === 0);

/** Makes the jobs whose task matches this SQL pattern due now, and notifies the workers. */
export const makeDue = (service: Service, taskPattern = '%') =>
  service.sql(
    `select graphile_worker.reschedule_jobs(
       array(select id from graphile_worker.jobs where task_identifier like $1), run_at := now()),
       pg_notify('jobs:insert', '{"count": 5}')`,
    [taskPattern],
  );

/** Reads a request as staff see it. */
export async function findRequest(service: Service, id: string): Promise<Erasure> {
  return (await service.app.get(ErasureService).list()).find((request) => request.id === id)!;
}

export async function waitUntilCarriedOut(service: Service, id: string): Promise<Erasure> {
  await until(async () => (await findRequest(service, id)).state === 'honoured');
  return findRequest(service, id);
}

/** Requests an erasure as staff, and waits until its job has carried it out. */
export async function erase(service: Service, email: string): Promise<Erasure> {
  return waitUntilCarriedOut(
    service,
    (await service.app.get(ErasureService).request(email, AUDIT_CONTEXT)).id,
  );
}

/** The forms in which a machine id may be stored: as hex digits, base64 or a list of bytes. */
export function formsOfMachine(id: string): Form[] {
  const bytes = Buffer.from(id, 'hex');
  const encodings = [bytes.toString('base64'), bytes.toString('base64url'), [...bytes].join(',')];
  const forms = encodings.map((form) => ({
    what: `${id} as ${form}`,
    bytes: Buffer.from(form),
    binary: false,
  }));
  return [...formsOfText(id), ...forms];
}

/** Reads the mails in the outbox. */
export async function outbox(service: Pick<Service, 'dataDir'>): Promise<Mail[]> {
  const directory = join(service.dataDir, 'outbox');
  const files = (await readdir(directory).catch(() => [])).filter((name) => name.endsWith('.eml'));
  return Promise.all(
    files.map(async (name) => {
      const { headers, text, html } = parseMail(await readFile(join(directory, name), 'latin1'));
      return { to: headers['to']!, subject: headers['subject']!, text, html };
    }),
  );
}

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** Waits until all mails with a stored recipient are sent. @returns the sent mails to `email` whose subject matches */
export async function mailsTo(service: Service, email: string, subject: RegExp): Promise<Mail[]> {
  await waitForSentMails(service);
  return (await outbox(service)).filter((mail) => mail.to === email && subject.test(mail.subject));
}
