import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { sell as sellTo } from '../erasure/harness.js';
import { Service } from '../support/harness.js';
import { JobWatch, PUBLIC_URL } from './harness.js';
import { parseMail } from './message.js';

const service = await Service.start({ environment: { PUBLIC_URL, PRODUCT: 'com.example.editor' } });
const jobs = await JobWatch.on(service.databaseUrl);
const outbox = join(service.dataDir, 'outbox');

const sell = (email: string) => sellTo(service, email, email);
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
const read = (name: string) => parseMail(readFileSync(join(outbox, name), 'latin1'));

test('without a mail server each mail is a complete file that only its owner can read', async () => {
  const id = await sell('ada@example.com');
  const [job] = await jobs.untilDone('license_key', id);
  const name = `${job!.mail_id}.eml`;
  expect(readdirSync(outbox)).toEqual([name]);
  expect([modeOf(outbox), modeOf(join(outbox, name))]).toEqual(['700', '600']);
  const { headers, text, html } = read(name);
  expect(headers).toMatchObject({
    from: '"com.example.editor" <licenses@localhost>',
    to: 'ada@example.com',
    subject: 'Your license key for com.example.editor',
    'message-id': `<${job!.mail_id}@licenses.example.org>`,
    'auto-submitted': 'auto-generated',
  });
  const [license_key] = /MOOR_\S+/.exec(text)!;
  expect(html).toContain(license_key);
  expect((await service.activate({ license_key: license_key!, email: 'ada@example.com' })).status).toBe(201);
});

test('a PNG logo is in the mail and only its HTML part shows it, and with an SVG logo a mail has no image', async () => {
  const png = fileURLToPath(new URL('../../scripts/pictures/logo.png', import.meta.url));
  const svg = fileURLToPath(new URL('../../web/shared/page/icon.svg', import.meta.url));
  const mailWith = async (LOGO_FILE: string) => {
    const branded = await Service.start({ environment: { LOGO_FILE } });
    const brandedJobs = await JobWatch.on(branded.databaseUrl);
    const { license_id } = await branded.issue({ email: 'ada@example.com' });
    await branded.app.get(LicensesService).sendKey(license_id);
    const [job] = await brandedJobs.untilDone('license_key_again', license_id);
    const raw = readFileSync(join(branded.dataDir, 'outbox', `${job!.mail_id}.eml`), 'latin1');
    await brandedJobs.close();
    await branded.close();
    const { text, ...mail } = parseMail(raw);
    return { ...mail, text: text.replace(/MOOR_\S+/, 'KEY') };
  };
  const [withPng, withSvg] = [await mailWith(png), await mailWith(svg)];
  expect(withPng.images).toEqual([
    { headers: expect.objectContaining({ 'content-id': '<logo@mail>' }), bytes: readFileSync(png) },
  ]);
  expect(withPng.images[0]!.headers['content-disposition']).toMatch(/^inline/);
  expect(withPng.headers['content-type']).toMatch(/^multipart\/alternative/);
  expect(withPng.html.match(/<img [^>]*>/g)).toEqual([
    expect.stringMatching(/^<img src="cid:logo@mail" alt="" height="32" /),
  ]);
  expect(withSvg.images).toEqual([]);
  expect(withSvg.html).not.toContain('<img');
  expect(withPng.text).toBe(withSvg.text);
});

test('a mail that is written again replaces its own file, and no other', async () => {
  const [id, other] = [await sell('again@example.com'), await sell('other@example.com')];
  const [job] = await jobs.untilDone('license_key', id);
  const [otherJob] = await jobs.untilDone('license_key', other);
  const { mail_id } = job!;
  const before = readdirSync(outbox).toSorted();
  writeFileSync(join(outbox, `${mail_id}.eml`), 'an incomplete ma');
  // The job runs again, as if its instance was killed while it wrote the file.
  await service.sql("select graphile_worker.add_job('mail_license_key', $1::json)", [{ mail_id, about: id }]);
  await jobs.untilDone('license_key', id, 2);
  expect(readdirSync(outbox).toSorted()).toEqual(before);
  expect(read(`${mail_id}.eml`).headers['to']).toBe('again@example.com');
  expect(modeOf(join(outbox, `${mail_id}.eml`))).toBe('600');
  expect(read(`${otherJob!.mail_id}.eml`).headers['to']).toBe('other@example.com');
});

test('an outbox that cannot be written is logged, and the mail is written later under the same name', async () => {
  rmSync(outbox, { recursive: true });
  writeFileSync(outbox, 'in the way');
  const id = await sell('late@example.com');
  const { last_error, mail_id } = await jobs.untilFailed(id);
  expect(last_error).toBe('DATA_DIR/outbox cannot be written (EEXIST)');
  expect(service.logged.join('')).toContain(`"reason":"${last_error}"`);
  rmSync(outbox);
  await service.sql(
    `select graphile_worker.reschedule_jobs(array(select id from graphile_worker.jobs), run_at := now()),
       pg_notify('jobs:insert', '{"count": 1}')`,
  );
  await jobs.untilDone('license_key', id);
  expect(readdirSync(outbox)).toEqual([`${mail_id}.eml`]);
});
