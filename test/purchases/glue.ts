import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { WEBHOOK_SECRET } from '../support/http/webhook.js';
import { Service } from '../support/harness.js';
import { freePort } from '../support/processes/server-process.js';
import { temporaryFolder } from '../support/folders.js';
import { afterThisFile } from '../support/of-this-file.js';
import { serve } from '../support/listen.js';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A report that glue code sent to Mooring, and the status of the answer. */
export interface SentReport {
  readonly headers: string;
  readonly body: string;
  readonly status: number;
}

/** Forwards requests to a service, and keeps what was sent. */
export class RecordingProxy {
  readonly sent: SentReport[] = [];
  /** If true, requests are answered with 503 and are not forwarded. */
  isUnavailable = false;

  constructor(private readonly service: Service) {}

  /** @returns the URL of the proxy */
  listen(): Promise<string> {
    return serve((request, response) => {
      void text(request).then(async (body) => {
        const headers = Object.entries(request.headers).filter(([name]) =>
          /^(webhook|content-type)/.test(name),
        );
        const { status } = this.isUnavailable
          ? { status: 503 }
          : await fetch(this.service.url + request.url!, {
              method: request.method!,
              headers: headers as [string, string][],
              body,
            });
        this.sent.push({ headers: JSON.stringify(request.headers), body, status });
        response.writeHead(status).end();
      });
    });
  }
}

/** The first JavaScript program on a page of docs/, which runs in its own process. */
export class Glue {
  readonly #directory = temporaryFolder();
  readonly #child: ChildProcess;
  output = '';

  private constructor(
    page: string,
    readonly port: number,
    settings: Record<string, string>,
    libraries: Record<string, string>,
  ) {
    const [program] = [
      ...readFileSync(join(root, 'docs', `${page}.md`), 'utf8').matchAll(/```js\n(.*?)```/gs),
    ];
    writeFileSync(join(this.#directory, 'glue.mjs'), program![1]!);
    const modules = join(this.#directory, 'node_modules');
    mkdirSync(modules);
    symlinkSync(join(root, 'node_modules/standardwebhooks'), join(modules, 'standardwebhooks'));
    for (const [name, source] of Object.entries(libraries)) {
      mkdirSync(join(modules, name), { recursive: true });
      writeFileSync(join(modules, name, 'package.json'), '{"type":"module","exports":"./index.js"}');
      writeFileSync(join(modules, name, 'index.js'), source);
    }
    const env = {
      PATH: process.env['PATH'],
      GLUE_PORT: String(port),
      PORT: String(port),
      PURCHASE_WEBHOOK_SECRET: WEBHOOK_SECRET,
      ...settings,
    };
    this.#child = spawn(process.execPath, ['glue.mjs'], { cwd: this.#directory, env });
    for (const stream of ['stdout', 'stderr'] as const)
      this.#child[stream]!.setEncoding('utf8').on('data', (chunk: string) => (this.output += chunk));
  }

  /**
   * Starts the program, and waits until it listens. @param settings its environment, in addition to the shared secret
   * @param libraries the sources of what replaces the libraries of the processor, by name
   */
  static async start(
    page: string,
    settings: Record<string, string>,
    libraries: Record<string, string> = {},
  ): Promise<Glue> {
    const glue = new Glue(page, await freePort(), settings, libraries);
    afterThisFile(() => glue.#end());
    while (!(await glue.#isListening())) {
      if (glue.#child.exitCode !== null) throw new Error(`The program of ${page} ended: ${glue.output}`);
    }
    return glue;
  }

  /** Sends an event as the processor does. @returns the status of the answer */
  async send(body: string, headers: Record<string, string>, path = '/'): Promise<number> {
    const answer = await fetch(`http://127.0.0.1:${this.port}${path}`, { method: 'POST', headers, body });
    return answer.status;
  }

  async #end(): Promise<void> {
    if (this.#child.exitCode === null) {
      this.#child.kill();
      await once(this.#child, 'exit');
    }
  }

  async #isListening(): Promise<boolean> {
    const socket = connect(this.port, '127.0.0.1');
    const isOpen = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false);
    socket.destroy();
    return isOpen;
  }
}
