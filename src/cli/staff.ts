import type { Command } from 'commander';
import { ROLES, type Role } from '../support/staff.entity.js';
import { StaffService } from '../support/staff.service.js';
import { withDatabase } from './database.js';
import { emailAddress, oneOf } from './options.js';
import { actOf, aligned, orNotFound, print, say } from './terminal.js';

const EMAIL = emailAddress('The e-mail address');

const withStaff = <T>(work: (staff: StaffService) => Promise<T>) =>
  withDatabase(({ dataSource, clock }) => work(new StaffService(dataSource, clock)));

export function staffCommands(staff: Command): void {
  staff
    .command('add')
    .argument('<email>', "the person's e-mail address", EMAIL)
    .description('add a person, or give one another role')
    .requiredOption('--role <role>', 'support (reads and releases) or admin', oneOf('--role', ROLES))
    .action(add);
  staff
    .command('token')
    .argument('<email>', 'whose token it is', EMAIL)
    .description('make a bearer token for a script; it has the role of its owner')
    .action(token);
  staff.command('tokens').description('list the tokens that are good').action(tokens);
  staff
    .command('revoke-token')
    .argument('<id>', "the token's id, as `staff tokens` prints it")
    .description('end a token')
    .action(revokeToken);
}

async function add(email: string, { role }: { role: Role }, command: Command): Promise<void> {
  const added = await withStaff((staff) => staff.add(email, role, actOf(command)));
  print(command, { ...added, email, role }, `${email} is staff with the role ${role}.`);
}

async function token(email: string, _options: unknown, command: Command): Promise<void> {
  const unknown = 'Nobody of the staff has this e-mail address: add the person with `mooring staff add`.';
  const made = await orNotFound(
    withStaff((staff) => staff.makeToken(email, actOf(command))),
    unknown,
  );
  say('This token is good for 90 days and shown only now: it is not stored.');
  const text = aligned([
    ['Id', made.id],
    ['Token', made.token],
  ]);
  print(command, made, text);
}

async function tokens(_options: unknown, command: Command): Promise<void> {
  const lines = await withStaff((staff) => staff.tokens());
  const head = ['Token', 'Owner', 'Role', 'Made', 'Ends'];
  const rows = lines.map(({ id, email, role, created_at, expires_at }) => [
    id,
    email,
    role,
    created_at,
    expires_at,
  ]);
  print(command, lines, lines.length > 0 ? aligned([head, ...rows]) : 'There are no tokens.');
}

async function revokeToken(id: string, _options: unknown, command: Command): Promise<void> {
  await orNotFound(
    withStaff((staff) => staff.revokeToken(id, actOf(command))),
    'No token has this id.',
  );
  print(command, { id, revoked: true }, `Token ${id} is revoked.`);
}
