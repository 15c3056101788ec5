import type { Answer, Service } from '../harness.js';

/** PUBLIC_URL where no setting says otherwise: where the pages are, and what a browser there says. */
export const ORIGIN = 'http://localhost:3000';

/** A browser with a page of the service open: its cookies, and the origin it says. */
export class CookieClient {
  readonly cookies = new Map<string, string>();

  /** @param api what the paths of `call` stand below */
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
    for (const given of answer.cookies) this.#keep(given);
    return answer;
  }

  #keep(given: string): void {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(given)!;
    if (value === '') this.cookies.delete(name!);
    else this.cookies.set(name!, value!);
  }
}
