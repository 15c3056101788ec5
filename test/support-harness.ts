import { StaffLinks } from '../src/support/staff-links.js';
import { StaffService } from '../src/support/staff.service.js';
import type { Role } from '../src/support/staff.entity.js';
import type { Answer, Service } from './harness.js';
import type { PostOffice } from './mail-harness.js';

export const ACT = { actor: 'test', reason: 'a test' };
/** PUBLIC_URL where no setting says otherwise: where the pages are, and what a browser there says. */
export const ORIGIN = 'http://localhost:3000';

/** A browser with a page of the service open: its cookies, and the origin it says. */
export class Browser {
  readonly cookies = new Map<string, string>();

  constructor(
    readonly service: Service,
    public origin = ORIGIN,
  ) {}

  async call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const isWrite = method !== 'GET' && method !== 'HEAD';
    const answer = await this.service.call(method, `/support/api/${path}`, body, {
      ...(cookie && { cookie }),
      ...(isWrite && { origin: this.origin }),
      ...headers,
    });
    for (const given of answer.cookies) this.#keep(given);
    return answer;
  }

  get(path: string): Promise<Answer> {
    return this.call('GET', path);
  }

  post(path: string, body?: unknown): Promise<Answer> {
    return this.call('POST', path, body);
  }

  #keep(given: string): void {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(given)!;
    if (value === '') this.cookies.delete(name!);
    else this.cookies.set(name!, value!);
  }
}

/** The secret of a link that the command line would print. */
export async function printedLink(service: Service, email: string): Promise<string> {
  const { link } = await service.app.get(StaffLinks).print(email, ACT);
  return link.split('#link=')[1]!;
}

/** A staff member of this role, in a browser, signed in. */
export async function signedIn(
  service: Service,
  role: Role = 'support',
  email = `${role}@example.com`,
  origin = ORIGIN,
): Promise<Browser> {
  await service.app.get(StaffService).ensure(email, role, ACT);
  const browser = new Browser(service, origin);
  const { status } = await browser.post('session/link', { link: await printedLink(service, email) });
  if (status !== 204) throw new Error(`the link was refused with ${status}`);
  return browser;
}

/** The newest entry of the audit trail. */
export async function lastEntry(service: Service): Promise<Record<string, unknown>> {
  const sql = 'select actor, action, license_id, reason, change from audit_event order by id desc limit 1';
  return (await service.sql(sql))[0]!;
}

/** What the last mail to somebody says, in plain text. */
export function lastMailTo(office: PostOffice, email: string): string {
  return office.smtp.accepted.findLast(({ to }) => to.includes(email))!.text;
}
