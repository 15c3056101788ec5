import { hash } from 'node:crypto';

/** The heartbeats that are sent for each activation. */
export const HEARTBEATS_PER_ACTIVATION = 3;

/** Whether a response acknowledges an activation, the only write of the load. */
export const isWrite = ({ name, status }) => name === 'activate' && status === 201;
/** Whether a response is a success, or asks the client to retry. */
export const isRight = ({ status, code, action }) =>
  status === 200 || status === 201 || (status === 503 && code === 'unavailable' && action === 'retry');

/** An open-loop load: requests are sent at a constant rate and do not wait for earlier responses. */
export class Load {
  answers = [];
  #running = new Set();
  #timer;
  #activations = 0;
  #token;

  constructor(urls, license, rate) {
    Object.assign(this, { urls, license, rate });
  }

  async start() {
    const first = await this.#send('activate', this.#activation());
    this.#token = first.json.token;
    this.#timer = setInterval(() => {
      void this.#send('activate', this.#activation());
      for (let beat = 0; beat < HEARTBEATS_PER_ACTIVATION; beat += 1)
        void this.#send('heartbeat', { token: this.#token, app_version: '1.0.0' });
    }, 1_000 / this.rate);
  }

  async stop() {
    clearInterval(this.#timer);
    await Promise.all(this.#running);
  }

  /** The ids of the acknowledged activations. */
  get acknowledged() {
    return this.answers.filter(isWrite).map(({ id }) => id);
  }

  #activation() {
    return {
      ...this.license,
      machine_id: hash('sha256', `machine ${(this.#activations += 1)}`),
      app_version: '1.0.0',
    };
  }

  async #send(name, body) {
    const request = this.#request(name, body);
    this.#running.add(request);
    const answer = await request;
    this.#running.delete(request);
    const { json, ...kept } = answer;
    this.answers.push({ ...kept, code: json.code, action: json.client_action, id: json.activation?.id });
    return answer;
  }

  async #request(name, body) {
    const sentAt = performance.now();
    // Every fourth request is an activation, so alternating between two instances would send all activations to one of them.
    const url = this.urls[Math.floor(Math.random() * this.urls.length)];
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    };
    const response = await fetch(`${url}/v1/${name}`, init).catch(() => null);
    const json = response ? await response.json() : {};
    return { name, sentAt, answeredAt: performance.now(), status: response?.status ?? 0, json };
  }
}
