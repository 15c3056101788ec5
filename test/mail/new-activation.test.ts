import { expect, test } from '@jest/globals';
import { outbox, waitForJobs } from '../erasure/harness.js';
import { Service } from '../support/harness.js';
import { MailHarness, PUBLIC_URL } from './harness.js';

const TASK = 'mail_activation_created';

/** Records each job that is enqueued from now on. @returns a function that reads the number of jobs so far */
async function countJobs(service: Service): Promise<() => Promise<number>> {
  await service.sql('create table seen_job (key text)');
  await service.sql(`create function see_job() returns trigger language plpgsql as
    'begin insert into seen_job values (new.key); return new; end'`);
  await service.sql(
    'create trigger see before insert on graphile_worker._private_jobs for each row execute function see_job()',
  );
  return async () => (await service.sql('select from seen_job')).length;
}

const service = await Service.start({ environment: { MAIL_NEW_ACTIVATIONS: 'true' } });

test('with MAIL_NEW_ACTIVATIONS=true each new activation is mailed once, and a repeated or refused one is not', async () => {
  const license = await service.issue({ email: 'ada@example.com', machines_allowed: 1 });
  const readJobCount = await countJobs(service);
  const activate = (machine: string) => service.activate(license, machine);
  const answers = [await activate('one'), await activate('one'), await activate('two')];
  expect(answers.map(({ status }) => status)).toEqual([201, 200, 409]);
  expect(await readJobCount()).toBe(1);
  await waitForJobs(service, TASK);
  const mails = (await outbox(service)).filter(({ to }) => to === 'ada@example.com');
  expect(mails.map(({ subject }) => subject)).toEqual([
    'An unnamed machine now uses your license for com.example.app',
  ]);
  expect(mails[0]!.text).toContain(`Activation id: ends in ${answers[0]!.json.activation.id.slice(-4)}\n`);
});

test('five concurrent requests for one machine create one activation and send one mail', async () => {
  const license = await service.issue({ email: 'race@example.com', machines_allowed: 1 });
  const answers = await Promise.all(Array.from({ length: 5 }, () => service.activate(license, 'one')));
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 200, 201]);
  await waitForJobs(service, TASK);
  expect((await outbox(service)).filter(({ to }) => to === 'race@example.com')).toHaveLength(1);
});

test('markup and headers in a label or in the name of the product stay text, and the mail links to the machine in the portal', async () => {
  const PRODUCT_NAME = '<b onclick=x>"Tom" & Jerry</b>';
  const harness = await MailHarness.start({ environment: { MAIL_NEW_ACTIVATIONS: 'true', PRODUCT_NAME } });
  const license = await harness.service.issue({ email: 'ada@example.com' });
  const label = '<img src=x onerror=1> =?utf-8?Q?x?= {product} & "y"\r\nBcc: eve@example.com';
  const { json } = await harness.service.activate(license, 'one', { hostname_hint: label });
  const mail = await harness.smtp.untilAccepted(() => true);
  const shown = label.replace('\r\n', '');
  expect(mail.headers['subject']).toBe(`“${shown}” now uses your license for ${PRODUCT_NAME}`);
  expect([mail.to, mail.headers['bcc']]).toEqual([['ada@example.com'], undefined]);
  expect(mail.text.startsWith(`${PRODUCT_NAME}\n\n“${shown}” now uses`)).toBe(true);
  expect(mail.html).toMatch(/<h1 [^>]*>&lt;b onclick=x&gt;&quot;Tom&quot; &amp; Jerry&lt;\/b&gt;<\/h1>/);
  expect(mail.html).not.toMatch(/<(b|img)\b/);
  const link = `${PUBLIC_URL}/portal/#activation=${json.activation.id}`;
  expect(mail.text.split('\n')).toContain(link);
  expect(mail.html).toContain(`<a href="${link}">Go to the license portal</a>`);
  await harness.close();
});

test('by default a new activation is not mailed', async () => {
  const byDefault = await Service.start();
  expect((await byDefault.activate(await byDefault.issue(), 'one')).status).toBe(201);
  const jobs = await byDefault.sql('select from graphile_worker.jobs where task_identifier = $1', [TASK]);
  expect(jobs).toEqual([]);
  await waitForJobs(byDefault, TASK);
  expect(await outbox(byDefault)).toEqual([]);
});
