import { StaffLinks } from '../../src/staff/links/staff-links.js';
import { StaffService } from '../../src/staff/staff.service.js';
import type { Role } from '../../src/staff/identity/role.js';
import type { Answer, Service } from '../support/harness.js';
import type { MailHarness } from '../mail/harness.js';
import { ORIGIN, CookieClient } from '../support/http/cookie-client.js';
import { AUDIT_CONTEXT } from '../support/harness.js';

/** A staff member's browser. */
export class Browser extends CookieClient {
  constructor(service: Service, origin = ORIGIN) {
    super(service, '/support/api/', origin);
  }

  get(path: string): Promise<Answer> {
    return this.call('GET', path);
  }

  post(path: string, body?: unknown): Promise<Answer> {
    return this.call('POST', path, body);
  }
}

/** Creates a sign-in link, as the command line does, which prints it. @returns the secret of the link */
export async function createPrintedLink(service: Service, email: string): Promise<string> {
  const { link } = await service.app.get(StaffLinks).create(email, AUDIT_CONTEXT);
  return link.split('#link=')[1]!;
}

/** Signs in a staff member with this role in a new browser, and adds the staff member if needed. */
export async function signInStaff(
  service: Service,
  role: Role = 'support',
  email = `${role}@example.com`,
  origin = ORIGIN,
): Promise<Browser> {
  await service.app.get(StaffService).ensure(email, role, AUDIT_CONTEXT);
  const browser = new Browser(service, origin);
  const { status } = await browser.post('session/link', { link: await createPrintedLink(service, email) });
  if (status !== 204) throw new Error(`the link was refused with ${status}`);
  return browser;
}

/** Reads the newest event of the audit trail. */
export async function lastAuditEvent(service: Service): Promise<Record<string, unknown>> {
  const sql = 'select actor, action, license_id, reason, change from audit_event order by id desc limit 1';
  return (await service.sql(sql))[0]!;
}

/** Returns the last mail to a person, as plain text. */
export function lastMailTo(harness: MailHarness, email: string): string {
  return harness.smtp.accepted.findLast(({ to }) => to.includes(email))!.text;
}

/** Whether an activation has not ended. */
export const isActive = async (service: Service, activation_id: string): Promise<boolean> =>
  (await service.sql('select from activation where id = $1 and ended_at is null', [activation_id])).length ===
  1;
