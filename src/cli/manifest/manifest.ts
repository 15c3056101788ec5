import { Option, type Command } from 'commander';
import { readLiveManifest, readDocumentAt } from './live-manifest.js';
import { makeKeyFile } from './signing-keys.js';
import { publish } from './publish.js';
import { refresh, withdraw } from './refresh.js';
import { sign } from './sign.js';
import { manifestText } from './manifest-text.js';
import { verify } from './verify.js';
import {
  appVersion,
  collectFiles,
  collectPublicKeys,
  fileDescriptor,
  imageUrl,
  moment,
  wholeNumber,
} from '../terminal/options.js';
import { newPassphrase } from '../terminal/passphrase.js';
import { resolveFromCallerFolder } from '../terminal/files.js';
import { aligned, print, CommandError, UsageError } from '../terminal/output.js';

const FILE_ARGUMENT = ['<file>', 'the manifest; - is standard input'] as const;
const DOCUMENT_ARGUMENT = ['<file|url>', 'the manifest, or its address; - is standard input'] as const;
/** The default of --wait: a second more than each instance needs to serve a new manifest (docs/contract.md#update-manifest). */
const DEFAULT_WAIT_SECONDS = 6;
const PASSPHRASE_OPTION = [
  '--passphrase-fd <n>',
  'read the passphrase from this file descriptor',
  fileDescriptor,
] as const;

interface KeygenOptions {
  readonly out: string;
  readonly passphraseFd?: number;
  /** False with --no-passphrase. */
  readonly passphrase: boolean;
}

/**
 * Adds the commands of `manifest`, for the publisher. Only `publish` needs a database, or STAFF_TOKEN and a service. The other
 * commands need neither if their arguments and options name the files that they read.
 */
export function manifestCommands(manifest: Command): void {
  manifest
    .command('keygen')
    .description('create a key for signing manifests and print its public half')
    .requiredOption('--out <file>', 'the file for the private half; never overwritten')
    .option(...PASSPHRASE_OPTION)
    .option('--no-passphrase', 'do not encrypt the key (for development)')
    .action(keygen);
  signCommand(manifest);
  addSigningOptions(
    manifest.command('refresh').description('sign the live version again with a later expiry'),
  ).action(refresh);
  addSigningOptions(
    manifest
      .command('withdraw')
      .description('sign the version before the live one again, to withdraw the live one'),
  )
    .option('--back-to <file>', 'the manifest of the version to go back to (default: from the database)')
    .action(withdraw);
  manifest
    .command('verify')
    .argument(...DOCUMENT_ARGUMENT)
    .description('verify the signatures and the expiry of a manifest')
    .option('--public-key <x>', 'a key to trust; may be repeated', collectPublicKeys)
    .action(verify);
  manifest
    .command('publish')
    .argument(...FILE_ARGUMENT)
    .description('make a signed manifest the live one')
    .option('--withdraw', 'withdraw the live version: the manifest goes back to an earlier one')
    .option('--dry-run', 'make all checks, print what would change, and change nothing')
    .option('--no-fetch', 'do not download the image to compare it with the signed one')
    .option(
      '--wait <seconds>',
      'how long the public address may take to serve the manifest, such as 310 behind a cache',
      wholeNumber('--wait', 0, 3_600),
      DEFAULT_WAIT_SECONDS,
    )
    .action(publish);
  manifest
    .command('show')
    .argument('[file|url]', `${DOCUMENT_ARGUMENT[1]}; default: the live one`)
    .description('print a manifest as text')
    .action(show);
}

/** Adds the command `manifest sign`. */
function signCommand(manifest: Command): void {
  const command = manifest
    .command('sign')
    .description('sign a new version on top of the live manifest')
    .option('--dmg <file>', 'the disk image file')
    .option('--version <v>', 'the version of the application', appVersion)
    .option('--url <url>', 'the download address of the disk image', imageUrl)
    .option(
      '--minimum-license-expiry <when>',
      'a license needs at least this expiry to get the version (default: all licenses get it)',
      moment('--minimum-license-expiry'),
    )
    .addOption(
      new Option('--for-everyone', 'all licenses get it, although the live version has a minimum').conflicts(
        'minimumLicenseExpiry',
      ),
    )
    .option('--low-minimum', 'let the minimum be below that of the live version')
    .option('--high-minimum', 'let the minimum be over a year ahead')
    .option('--again', 'sign an image that the live manifest offers already')
    .option('--any-format', 'sign a file that is no disk image (UDIF)')
    .addOption(new Option('--first', 'there is no live manifest yet').conflicts('previous'))
    .option(
      '--sequence <n>',
      'the sequence number (default: the next one, or 1 with --first)',
      wholeNumber('--sequence', 1, 999_999_999),
    )
    .option('--prepared <file>', 'the file that --prepare wrote, with --attach')
    .option('--attach <file>', 'a signature of that file, made elsewhere; may be repeated', collectFiles);
  addSigningOptions(command).action(sign);
}

/** Adds the options that `sign`, `refresh` and `withdraw` have in common. */
function addSigningOptions(command: Command): Command {
  return command
    .option('--expires <when>', 'when the manifest expires (default: in 90 days)', moment('--expires'))
    .option('--long-expiry', 'let it expire over a year ahead')
    .option('--previous <file|url>', 'the live manifest (default: from PUBLIC_URL, else from the database)')
    .option('--key <file>', 'the private key to sign with; may be repeated', collectFiles)
    .option(...PASSPHRASE_OPTION)
    .option(
      '--public-key <x>',
      'also trust manifests signed with this key, and sign with its private key without confirmation; may be repeated',
      collectPublicKeys,
    )
    .option('--prepare <file>', 'sign nothing: write the bytes to this file, to be signed elsewhere')
    .option('--dry-run', 'sign nothing: print what would change')
    .option('--out <file>', 'the file for the manifest; never overwritten (default: standard output)');
}

async function keygen({ out, passphrase, passphraseFd }: KeygenOptions, command: Command): Promise<void> {
  if (!passphrase && passphraseFd !== undefined) {
    throw new UsageError('--no-passphrase and --passphrase-fd exclude each other.');
  }
  const file = resolveFromCallerFolder(out);
  const keyFile = await makeKeyFile(file, passphrase ? newPassphrase(passphraseFd) : null);
  const text = aligned([
    ['Private key', `${file} (${passphrase ? 'encrypted' : 'not encrypted: for development only'})`],
    ['Key id', keyFile.key_id],
    ['Public key', `${keyFile.public_key}   for the application and MANIFEST_PUBLIC_KEYS`],
  ]);
  print(command, { ...keyFile, file }, text);
}

async function show(file: string | undefined, _options: unknown, command: Command): Promise<void> {
  const document = file === undefined ? await readLiveManifest() : await readDocumentAt(file);
  if (document === null) throw new CommandError('No manifest is live.');
  print(command, document, manifestText(document));
}
