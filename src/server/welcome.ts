import { hash } from 'node:crypto';
import { join } from 'node:path';
import { Config } from '../core/config.js';
import type { Sample } from './sample-data.js';

/** Returns the text that `npm start` prints: the pages, a sample license, and a command to try it. */
export function welcomeText({ publicUrl, smtpUrl, dataDir }: Config, sample: Sample): string {
  const { email, license_key, staff } = sample;
  const body = JSON.stringify({
    license_key,
    email,
    machine_id: hash('sha256', 'a sample machine'),
    hostname_hint: 'Studio Mac',
    app_version: '1.0.0',
  });
  const activationExample = [
    `  Sample license   ${license_key}   (${email})`,
    '',
    '  Activate it:',
    '',
    `curl -sS ${publicUrl}/v1/activate -H 'content-type: application/json' -d '${body}'`,
  ];
  return [
    '',
    `  Mooring is ready at ${publicUrl}   (development mode; Ctrl-C ends it)`,
    '',
    `  License portal   ${publicUrl}/portal/`,
    `  Support          ${staff?.link ?? `${publicUrl}/support/`}`,
    ...(staff ? [`                   (signs ${staff.email} in, once, within 30 minutes)`] : []),
    `  What is stored   ${publicUrl}/privacy/`,
    `  Update manifest  ${publicUrl}/v1/manifest`,
    `  Health           ${publicUrl}/health/ready`,
    `  Errors           ${publicUrl}/docs/errors`,
    ...(smtpUrl ? [] : [`  Mail             is written to ${join(dataDir, 'outbox')}`]),
    ...(license_key ? activationExample : []),
    '',
    '  The requests of a client, in order:  npm run demo',
    '  The command line:                    npm run --silent mooring -- --help',
    '',
  ].join('\n');
}
