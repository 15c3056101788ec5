import { Option, type Command } from 'commander';
import { parseSigned, readDocument } from '../keys/signed-manifest.js';
import { liveOfDatabase, readManifestFile } from './live-manifest.js';
import { makeKeyFile } from './manifest-keys.js';
import { publish } from './manifest-publish.js';
import { sign } from './manifest-sign.js';
import { manifestText } from './manifest-text.js';
import { verify } from './manifest-verify.js';
import { appVersion, fileDescriptor, files, httpsUrl, moment, publicKeys } from './options.js';
import { newPassphrase } from './passphrase.js';
import { aligned, callersPath, print, Refused, UsageError } from './terminal.js';

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
    .action(publish);
  manifest
    .command('show')
    .argument('[file]', `${FILE[1]}; without one, what is live`)
    .description('print a manifest for a person')
    .action(show);
}

function signCommand(manifest: Command): void {
  const when = '--minimum-license-expiry';
  manifest
    .command('sign')
    .description('sign a new version on top of the live manifest')
    .requiredOption('--dmg <file>', 'the image to be downloaded')
    .requiredOption('--version <v>', 'its version', appVersion('--version'))
    .requiredOption('--url <url>', 'where it is downloaded', httpsUrl('--url'))
    .option(
      `${when} <when>`,
      'until when a license must run to have it (default: everyone has it)',
      moment(when),
    )
    .option('--expires <when>', 'when the manifest expires (default: in 90 days)', moment('--expires'))
    .option('--previous <file|url>', 'the live manifest (default: of PUBLIC_URL, else of the database)')
    .addOption(new Option('--first', 'there is no live manifest yet').conflicts('previous'))
    .option('--key <file>', 'the private key to sign with; may be repeated', files)
    .option(...PASSPHRASE)
    .option(
      '--public-key <x>',
      'trust the live manifest by this key too; may be repeated',
      publicKeys('--public-key'),
    )
    .option('--out <file>', 'where the manifest is to lie; never overwritten (default: standard output)')
    .action(sign);
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
