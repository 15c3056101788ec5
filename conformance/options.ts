import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { HOSTNAME_HINT, type License } from './deployment.ts';

export interface Options {
  /** Without a trailing slash. */
  readonly url: string;
  readonly license: License;
  readonly json: boolean;
}

/** An error in the arguments. Its message is one sentence; the exit code is then 2. */
export class UsageError extends Error {}

export const NOTICE = `This activates one machine of the license (label "${HOSTNAME_HINT}", the same in every run), which stays activated.
If that reaches the machine limit, another machine is tried, which must be refused. Two blocks of made-up telemetry are stored.`;

export const HELP = `Usage: npm run conformance -- --url URL --license-key KEY --email E-MAIL [--json]

Checks from outside whether a deployment of Mooring, or of another implementation, keeps to Mooring's contract.

  --url URL            the base URL, such as https://license.example.com
  --license-key KEY    the license for the checks. A license for one machine that is not in use allows all checks.
                       - reads the key from standard input, because every user of the computer sees arguments
  --email E-MAIL       the e-mail address of that license
  --json               print one JSON value instead of the table
  --help               print this text

${NOTICE}

Exit code: 0 if no check fails, 1 if a check fails or no service answers, 2 if the arguments are wrong.`;

const ARGUMENTS = {
  url: { type: 'string' },
  'license-key': { type: 'string' },
  email: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

/** Reads the arguments. @returns null for --help. @throws UsageError */
export function readOptions(args: readonly string[]): Options | null {
  const values = parseArguments(args);
  if (values.help) return null;
  const { url, email } = values;
  const given = values['license-key'];
  const license_key = given === '-' ? readFileSync(0, 'utf8') : given;
  const missing = Object.entries({ url, 'license-key': license_key, email }).find(
    ([, value]) => !value?.trim(),
  );
  if (missing) throw new UsageError(`--${missing[0]} is missing.`);
  return {
    url: parseBaseUrl(url!),
    license: { license_key: license_key!.trim(), email: email!.trim() },
    json: values.json ?? false,
  };
}

function parseArguments(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: ARGUMENTS, allowPositionals: false }).values;
  } catch (error) {
    // Only the first sentence of Node's message is used; the others suggest other spellings.
    const [sentence] = (error as Error).message.split(/\.\s|\n/);
    throw new UsageError(`${sentence!.replace(/\.$/, '')}.`);
  }
}

function parseBaseUrl(text: string): string {
  const url = URL.parse(text.trim());
  if (!url || !/^https?:$/.test(url.protocol)) throw new UsageError('--url must be an http or https URL.');
  // An empty query or fragment is in `href` alone, and would end the path of each request.
  if (/[?#]/.test(url.href) || url.username || url.password)
    throw new UsageError('--url must have no user, no query and no fragment.');
  return url.href.replace(/\/+$/, '');
}
