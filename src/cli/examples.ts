import type { Command } from 'commander';

/**
 * Examples of each command, for its help: the text after `mooring`. test/cli/help.test.ts parses each, so that none is out of date.
 */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  init: ['init /etc/mooring'],
  migrate: ['migrate'],
  status: ['status --json'],
  doctor: ['doctor'],
  help: ['help manifest sign'],
  completion: ['completion bash'],
  'license issue': [
    'license issue --email ada@example.com --machines 2 --expires 2028-01-04 --on-expiry keep',
  ],
  'license list': [
    'license list --status suspended --limit 20',
    'license list --email ada@example.com --json',
  ],
  'license show': [
    'license show 0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6',
    'license show ada@example.com',
    'license show -',
  ],
  'license set': [
    "license set 0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6 --expires 2029-01-04 --reason 'Renewed by invoice 42.'",
  ],
  'license rekey': [
    "license rekey 0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6 --reason 'The key was posted in a forum.'",
  ],
  'license send-key': ['license send-key 0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6'],
  'license import': [
    'license import licenses.csv',
    'license import orders.csv --from gumroad --dry-run',
    "license import customers.csv --map 'License Key=previous_key' --map Email=email",
  ],
  'purchase record': ['purchase record --transaction pi_42 --status paid --email ada@example.com'],
  'activation release': [
    "activation release 0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f7 --reason 'The machine was sold.'",
  ],
  'staff add': ['staff add grace@example.com --role admin'],
  'staff list': ['staff list'],
  'staff link': ['staff link grace@example.com'],
  'staff remove': ['staff remove grace@example.com --as root'],
  'staff token': ['staff token grace@example.com'],
  'staff tokens': ['staff tokens'],
  'staff revoke-token': ['staff revoke-token 0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f8'],
  'retention run': ['retention run --dry-run --as-of 2028-01-04'],
  'erasure request': ["erasure request --reason 'Asked by letter.'"],
  'erasure run': ['erasure run'],
  'erasure list': ['erasure list'],
  'events list': ['events list --state waiting'],
  'events resend': ['events resend --given-up', 'events resend --since 2028-01-04'],
  'events stop': ['events stop'],
  'manifest keygen': ['manifest keygen --out manifest-1.pem'],
  'manifest sign': [
    'manifest sign --dmg App-3.3.0.dmg --version 3.3.0 --url https://dl.example.com/App-3.3.0.dmg --key manifest-1.pem --key manifest-2.pem --out manifest-3.3.0.json',
    'manifest sign --prepared to-sign --attach signature-1 --attach signature-2 --out manifest-3.4.0.json',
  ],
  'manifest refresh': ['manifest refresh --key manifest-1.pem --key manifest-2.pem --out refresh.json'],
  'manifest withdraw': [
    'manifest withdraw --back-to manifest-3.2.0.json --key manifest-1.pem --key manifest-2.pem --out withdraw.json',
  ],
  'manifest verify': [
    'manifest verify manifest-3.3.0.json',
    'manifest verify https://licensing.example.com/v1/manifest',
  ],
  'manifest publish': [
    'manifest publish manifest-3.3.0.json --dry-run',
    'manifest publish manifest-3.3.0.json --wait 310',
    'manifest publish withdraw.json --withdraw',
  ],
  'manifest show': ['manifest show', 'manifest show manifest-3.3.0.json'],
  'keys list': ['keys list'],
  'keys rotate': ['keys rotate'],
  'keys revoke': ['keys revoke kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k --dry-run'],
  'keys accept-secret': ["keys accept-secret --reason 'The secret was lost with the old machine.'"],
};

/** Adds the examples to the help of a command and its subcommands. @param path the names of the command, without the program's */
export function addExamples(command: Command, path: readonly string[] = []): void {
  const examples = EXAMPLES[path.join(' ')];
  if (examples) {
    const lines = examples.map((example) => `  mooring ${example}`);
    command.addHelpText('after', `\n${lines.length === 1 ? 'Example' : 'Examples'}:\n${lines.join('\n')}`);
  }
  for (const child of command.commands) addExamples(child, [...path, child.name()]);
}
