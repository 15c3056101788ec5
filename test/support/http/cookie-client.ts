import type { Answer, Service } from '../harness.js';

/** The default of PUBLIC_URL: the address of the pages, and the origin that a browser sends. */
export const ORIGIN = 'http://localhost:3000';

/** A client that keeps cookies and sends an origin, like a browser with a page of the service. */
export class CookieClient {
  readonly cookies = new Map<string, string>();

  /** @param api the prefix of the paths of `call` */
  constructor(
    readonly service: Service,
    private readonly api: string,
    public origin: string,
  ) {}

  async call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const isWrite = method !== 'GET' && method !== 'HEAD';
    const answer = await this.service.call(method, this.api + path, body, {
      ...(cookie && { cookie }),
      ...(isWrite && { origin: this.origin }),
      ...headers,
    });
    for (const header of answer.cookies) this.#storeCookie(header);
    return answer;
  }

  #storeCookie(header: string): void {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(header)!;
    if (value === '') this.cookies.delete(name!);
    else this.cookies.set(name!, value!);
  }
}
