import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { HOSTNAME_HINT, type License } from './deployment.ts';

export interface Options {
  /** Without a slash at its end. */
  readonly url: string;
  readonly license: License;
  readonly json: boolean;
}

/** A sentence for the person who typed the command: exit code 2. */
export class UsageError extends Error {}

export const NOTICE = `This activates one machine of the license (label "${HOSTNAME_HINT}", the same in every run) and keeps its seat.
Where that was the last seat, another machine is tried, which must be refused. Two blocks of made-up telemetry are sent.`;

export const HELP = `Usage: npm run conformance -- --url URL --license-key KEY --email E-MAIL [--json]

Checks from outside whether a deployment keeps to Mooring's contract, ours or any other, and prints what holds.

  --url URL            where it is, such as https://license.example.com
  --license-key KEY    a license to check with; one for a single machine that is not in use shows the most.
                       - reads it from standard input: every user of the machine sees arguments
  --email E-MAIL       the e-mail address of that license
  --json               one JSON value in place of the table
  --help               this

${NOTICE}

Exit code: 0 where nothing fails, 1 where something does or no service answers, 2 where the arguments are wrong.`;

const MEANT = {
  url: { type: 'string' },
  'license-key': { type: 'string' },
  email: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

/** Reads the arguments; null asks for help. Throws UsageError. */
export function readOptions(args: readonly string[]): Options | null {
  const values = parsed(args);
  if (values.help) return null;
  const { url, email } = values;
  const given = values['license-key'];
  const license_key = given === '-' ? readFileSync(0, 'utf8') : given;
  const missing = Object.entries({ url, 'license-key': license_key, email }).find(
    ([, value]) => !value?.trim(),
  );
  if (missing) throw new UsageError(`--${missing[0]} is missing.`);
  return {
    url: base(url!),
    license: { license_key: license_key!.trim(), email: email!.trim() },
    json: values.json ?? false,
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: MEANT, allowPositionals: false }).values;
  } catch (error) {
    // Node explains further how one could have meant it; its first sentence says enough.
    const [sentence] = (error as Error).message.split(/\.\s|\n/);
    throw new UsageError(`${sentence!.replace(/\.$/, '')}.`);
  }
}

function base(text: string): string {
  const url = URL.parse(text.trim());
  if (!url || !/^https?:$/.test(url.protocol))
    throw new UsageError('--url must be an http or https address.');
  if (url.search || url.hash || url.username || url.password)
    throw new UsageError('--url must have no user, no query and no fragment.');
  return url.href.replace(/\/+$/, '');
}
