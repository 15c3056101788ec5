import type { Command } from 'commander';
import { rfc3339 } from '../core/clock.js';
import { ROLES, type Role } from '../staff/identity/role.js';
import { StaffLinks } from '../staff/links/staff-links.js';
import { StaffService } from '../staff/staff.service.js';
import { StaffTokensService } from '../staff/tokens/staff-tokens.service.js';
import { withDatabase } from './context/command-context.js';
import { choiceOption, emailAddress, rowId } from './terminal/options.js';
import {
  auditContextOf,
  aligned,
  explainNotFound,
  print,
  printMessage,
  withIdName,
} from './terminal/output.js';

const parseEmail = emailAddress('<email>');

const NOT_FOUND = 'No staff member has this e-mail address';
const NOT_ADDED = `${NOT_FOUND}: add the person with \`mooring staff add\`.`;

/** Opens the database, and passes the service to `work`. */
const withStaff = <T>(work: (staff: StaffService) => Promise<T>) =>
  withDatabase(({ dataSource, clock }) => work(new StaffService(dataSource, clock)));
const withTokens = <T>(work: (tokens: StaffTokensService) => Promise<T>) =>
  withDatabase(({ dataSource, clock }) => work(new StaffTokensService(dataSource, clock)));

/** Adds the commands of `staff`. */
export function staffCommands(staff: Command): void {
  staff
    .command('add')
    .argument('<email>', "the person's e-mail address", parseEmail)
    .description('add a staff member, or change the role of one')
    .addOption(
      choiceOption(
        '--role <role>',
        'support reads, releases machines, mails keys and sets the states of crash groups; admin may do everything',
        ROLES,
      ).makeOptionMandatory(),
    )
    .action(add);
  staff.command('list').description('list the staff members').action(list);
  staff
    .command('link')
    .argument('<email>', 'the e-mail address of the staff member', parseEmail)
    .description(
      'print a link that signs a staff member in once, to create the first passkey, or a new one after a loss',
    )
    .action(link);
  staff
    .command('remove')
    .argument('<email>', 'the e-mail address of the staff member', parseEmail)
    .description(
      'remove a staff member and their passkeys, sessions, links and tokens; the audit trail stays',
    )
    .action(remove);
  staff
    .command('token')
    .argument('<email>', 'the e-mail address of the owner', parseEmail)
    .description('create a bearer token for a script; it has the role of its owner')
    .action(token);
  staff.command('tokens').description('list the unexpired tokens').action(tokens);
  staff
    .command('revoke-token')
    .argument('<id>', "the token's id, as `staff tokens` prints it", rowId)
    .description('revoke a token')
    .action(revokeToken);
}

async function add(email: string, { role }: { role: Role }, command: Command): Promise<void> {
  const added = await withStaff((staff) => staff.ensure(email, role, auditContextOf(command)));
  print(command, { ...added, email, role }, `${email} is staff with the role ${role}.`);
}

async function list(_options: unknown, command: Command): Promise<void> {
  const members = await withStaff((staff) => staff.list());
  const head = ['E-mail', 'Role', 'Passkeys', 'Added'];
  const rows = members.map((each) => [each.email, each.role, String(each.passkeys), each.created_at]);
  const values = members.map((each) => withIdName('staff', each));
  print(command, values, members.length > 0 ? aligned([head, ...rows]) : 'There are no staff members.');
}

async function link(email: string, _options: unknown, command: Command): Promise<void> {
  const created = await explainNotFound(
    withDatabase(({ dataSource, config, clock }) =>
      new StaffLinks(dataSource, config, clock).create(email, auditContextOf(command)),
    ),
    NOT_ADDED,
  );
  printMessage(
    `The link works once, until ${rfc3339(created.expires_at)}, and is shown only now. Anyone who has it can sign in as ${email}.`,
  );
  print(command, { link: created.link, expires_at: rfc3339(created.expires_at) }, created.link);
}

async function remove(email: string, _options: unknown, command: Command): Promise<void> {
  await explainNotFound(
    withStaff(async (staff) => staff.remove(await staff.findId(email), auditContextOf(command))),
    `${NOT_FOUND}: nothing was changed.`,
  );
  print(command, { email, removed: true }, `${email} is no longer staff.`);
}

async function token(email: string, _options: unknown, command: Command): Promise<void> {
  const created = await explainNotFound(
    withTokens((tokens) => tokens.create(email, auditContextOf(command))),
    NOT_ADDED,
  );
  printMessage('This token is valid for 90 days and is shown only now: it is not stored.');
  const text = aligned([
    ['Id', created.id],
    ['Token', created.token],
  ]);
  print(command, withIdName('token', created), text);
}

async function tokens(_options: unknown, command: Command): Promise<void> {
  const unexpired = await withTokens((staffTokens) => staffTokens.list());
  const head = ['Id', 'Owner', 'Role', 'Created', 'Expires'];
  const rows = unexpired.map((each) => [each.id, each.email, each.role, each.created_at, each.expires_at]);
  const values = unexpired.map((each) => withIdName('token', each));
  print(command, values, unexpired.length > 0 ? aligned([head, ...rows]) : 'There are no valid tokens.');
}

async function revokeToken(id: string, _options: unknown, command: Command): Promise<void> {
  await explainNotFound(
    withTokens((staffTokens) => staffTokens.revoke(id, auditContextOf(command))),
    'No token has this id: `mooring staff tokens` lists the ids.',
  );
  print(command, { token_id: id, revoked: true }, `Token ${id} is revoked.`);
}
