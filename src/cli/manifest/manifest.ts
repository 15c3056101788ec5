import { Option, type Command } from 'commander';
import { parseSigned, readDocument } from '../../keys/manifests/signed-manifest.js';
import { liveOfDatabase, readManifestFile } from './live-manifest.js';
import { makeKeyFile } from './signing-keys.js';
import { publish } from './publish.js';
import { refresh, withdraw } from './refresh.js';
import { sign } from './sign.js';
import { manifestText } from './manifest-text.js';
import { verify } from './verify.js';
import {
  appVersion,
  fileDescriptor,
  files,
  httpsUrl,
  moment,
  publicKeys,
  wholeNumber,
} from '../terminal/options.js';
import { newPassphrase } from '../terminal/passphrase.js';
import { aligned, callersPath, print, Refused, UsageError } from '../terminal/output.js';

const FILE = ['<file>', 'the manifest; - is standard input'] as const;
const PASSPHRASE = [
  '--passphrase-fd <n>',
  'read the passphrase from this file descriptor',
  fileDescriptor('--passphrase-fd'),
] as const;

interface KeygenOptions {
  readonly out: string;
  readonly passphraseFd?: number;
  readonly passphrase: boolean;
}

/** The publisher's tools (usable with no server and no database up to `publish`) and what is live. */
export function manifestCommands(manifest: Command): void {
  manifest
    .command('keygen')
    .description('make a key to sign manifests with; its public half is printed')
    .requiredOption('--out <file>', 'where the private half is to lie; never overwritten')
    .option(...PASSPHRASE)
    .option('--no-passphrase', 'do not encrypt it (for development)')
    .action(keygen);
  signCommand(manifest);
  nextOptions(manifest.command('refresh').description('sign the live version again, good for longer')).action(
    refresh,
  );
  nextOptions(
    manifest
      .command('withdraw')
      .description('sign the version before the live one again, to take the live one back'),
  )
    .option(
      '--back-to <file>',
      'the manifest of the version to go back to (default: of the database at hand)',
    )
    .action(withdraw);
  manifest
    .command('verify')
    .argument(...FILE)
    .description('say who signed a manifest, and refuse one that a client would')
    .option('--public-key <x>', 'a key to trust; may be repeated', publicKeys('--public-key'))
    .action(verify);
  manifest
    .command('publish')
    .argument(...FILE)
    .description('make a signed manifest the live one')
    .option('--withdraw', 'take back the live version: the manifest goes back to one before it')
    .option('--dry-run', 'refuse what would be refused, print what would change, and change nothing')
    .action(publish);
  manifest
    .command('show')
    .argument('[file]', `${FILE[1]}; without one, what is live`)
    .description('print a manifest for a person')
    .action(show);
}

function signCommand(manifest: Command): void {
  const command = manifest
    .command('sign')
    .description('sign a new version on top of the live manifest')
    .option('--dmg <file>', 'the image to be downloaded')
    .option('--version <v>', 'its version', appVersion('--version'))
    .option('--url <url>', 'where it is downloaded', httpsUrl('--url'))
    .option(
      '--minimum-license-expiry <when>',
      'until when a license must run to have it (default: everyone has it)',
      moment('--minimum-license-expiry'),
    )
    .addOption(new Option('--first', 'there is no live manifest yet').conflicts('previous'))
    .option(
      '--sequence <n>',
      'where --first begins to count (default: 1)',
      wholeNumber('--sequence', 1, 999_999_999),
    )
    .option('--prepared <file>', 'the bytes that --prepare wrote, to be signed by --attach')
    .option('--attach <file>', 'a signature over them, made elsewhere; may be repeated', files);
  nextOptions(command).action(sign);
}

/** What `sign`, `refresh` and `withdraw` have in common. */
function nextOptions(command: Command): Command {
  return command
    .option('--expires <when>', 'when the manifest expires (default: in 90 days)', moment('--expires'))
    .option('--previous <file|url>', 'the live manifest (default: of PUBLIC_URL, else of the database)')
    .option('--key <file>', 'the private key to sign with; may be repeated', files)
    .option(...PASSPHRASE)
    .option(
      '--public-key <x>',
      'trust manifests by this key too; may be repeated',
      publicKeys('--public-key'),
    )
    .option('--prepare <file>', 'sign nothing: write the bytes that are to be signed elsewhere')
    .option('--dry-run', 'sign nothing: print what would change')
    .option('--out <file>', 'where the manifest is to lie; never overwritten (default: standard output)');
}

async function keygen({ out, passphrase, passphraseFd }: KeygenOptions, command: Command): Promise<void> {
  if (!passphrase && passphraseFd !== undefined) {
    throw new UsageError('--no-passphrase and --passphrase-fd exclude each other.');
  }
  const file = callersPath(out);
  const made = await makeKeyFile(file, passphrase ? newPassphrase(passphraseFd) : null);
  const text = aligned([
    ['Private key', `${file} (${passphrase ? 'encrypted' : 'not encrypted: for development alone'})`],
    ['Key id', made.key_id],
    ['Public key', `${made.public_key}   to ship with the application, and for MANIFEST_PUBLIC_KEYS`],
  ]);
  print(command, { ...made, file }, text);
}

async function show(file: string | undefined, _options: unknown, command: Command): Promise<void> {
  const document = file === undefined ? await liveOfDatabase() : await readManifestFile(file);
  if (document === null) throw new Refused('No manifest is live.');
  parseSigned(readDocument(document).signed);
  print(command, document, manifestText(document));
}
