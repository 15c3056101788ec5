import type { Command } from 'commander';
import { rfc3339 } from '../core/clock.js';
import { ROLES, type Role } from '../staff/staff.entity.js';
import { StaffLinks } from '../staff/links/staff-links.js';
import { StaffService } from '../staff/staff.service.js';
import { StaffTokensService } from '../staff/tokens/staff-tokens.service.js';
import { withDatabase } from './database.js';
import { emailAddress, oneOf } from './terminal/options.js';
import { actOf, aligned, orNotFound, print, printMessage } from './terminal/output.js';

const EMAIL = emailAddress('The e-mail address');

const UNKNOWN = 'Nobody of the staff has this e-mail address: add the person with `mooring staff add`.';

const withStaff = <T>(work: (staff: StaffService) => Promise<T>) =>
  withDatabase(({ dataSource, clock }) => work(new StaffService(dataSource, clock)));
const withTokens = <T>(work: (tokens: StaffTokensService) => Promise<T>) =>
  withDatabase(({ dataSource, clock }) => work(new StaffTokensService(dataSource, clock)));

export function staffCommands(staff: Command): void {
  staff
    .command('add')
    .argument('<email>', "the person's e-mail address", EMAIL)
    .description('add a person, or give one another role')
    .requiredOption('--role <role>', 'support (reads and releases) or admin', oneOf('--role', ROLES))
    .action(add);
  staff
    .command('link')
    .argument('<email>', 'whom it signs in', EMAIL)
    .description('print a link that signs a person in once: to make the first passkey, or after it was lost')
    .action(link);
  staff
    .command('remove')
    .argument('<email>', 'who leaves', EMAIL)
    .description('remove a person, with passkeys, sessions, links and tokens; the audit trail stays')
    .action(remove);
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
  const added = await withStaff((staff) => staff.ensure(email, role, actOf(command)));
  print(command, { ...added, email, role }, `${email} is staff with the role ${role}.`);
}

async function link(email: string, _options: unknown, command: Command): Promise<void> {
  const made = await orNotFound(
    withDatabase(({ dataSource, config, clock }) =>
      new StaffLinks(dataSource, config, clock).create(email, actOf(command)),
    ),
    UNKNOWN,
  );
  printMessage(
    `It works once, until ${rfc3339(made.expires_at)}, and is shown only now. Whoever has it signs in as ${email}.`,
  );
  print(command, { link: made.link, expires_at: rfc3339(made.expires_at) }, made.link);
}

async function remove(email: string, _options: unknown, command: Command): Promise<void> {
  await orNotFound(
    withStaff(async (staff) => staff.remove(await staff.findId(email), actOf(command))),
    UNKNOWN,
  );
  print(command, { email, removed: true }, `${email} is no longer staff.`);
}

async function token(email: string, _options: unknown, command: Command): Promise<void> {
  const made = await orNotFound(
    withTokens((tokens) => tokens.create(email, actOf(command))),
    UNKNOWN,
  );
  printMessage('This token is good for 90 days and shown only now: it is not stored.');
  const text = aligned([
    ['Id', made.id],
    ['Token', made.token],
  ]);
  print(command, made, text);
}

async function tokens(_options: unknown, command: Command): Promise<void> {
  const lines = await withTokens((all) => all.list());
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
    withTokens((all) => all.revoke(id, actOf(command))),
    'No token has this id.',
  );
  print(command, { id, revoked: true }, `Token ${id} is revoked.`);
}
