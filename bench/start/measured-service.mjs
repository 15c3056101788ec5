import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { root, SERVICE_FLAGS } from '../../scripts/prepare.mjs';
import { sum } from '../measure.mjs';
import { ask, endProcess, readProcessorTime } from '../load/processes.mjs';
import { memoryParts } from './memory.mjs';

/** The requests a second of each kind, 240 in total. */
const RATES = {
  heartbeat: 80,
  telemetry: 70,
  manifest: 60,
  portal: 15,
  activate_new: 5,
  activate_again: 5,
  search: 5,
};
/** The connections of the closed loop that saturates the service. */
const CONNECTIONS = 64;

/** Starts the service on the data of the bench, and measures it. */
export class MeasuredService {
  constructor(processes, { settings, file }) {
    Object.assign(this, { processes, settings, file });
  }

  /** Starts and ends the service. @returns the times of its steps and until it was ready, and its processor time then, in ms */
  async start(variant) {
    const server = await this.#open(variant, 'marks.mjs');
    const processorMs = readProcessorTime(server.pid);
    const marks = await ask(server.child, 'marks');
    await endProcess(server.child);
    return { readyMs: server.readyMs, processorMs, marks };
  }

  async countModules(variant) {
    const { child } = await this.#open(variant, 'modules.mjs');
    const packages = await ask(child, 'modules');
    await endProcess(child);
    return packages;
  }

  /** Measures the memory of the service, as `#measureStates` does. */
  async measureMemory(variant, times) {
    return this.#measureStates(await this.#open(variant), times);
  }

  /** Measures the memory of another program, as `#measureStates` does. It must answer each request with 200. */
  async measureMemoryOf(program, times) {
    const server = await this.processes.startProgram(program, [...SERVICE_FLAGS, program], {});
    return this.#measureStates(server, times);
  }

  /** Measures the memory without requests, under a steady load, and saturated; and the processor time of each request. */
  async #measureStates(server, { idle, seconds }) {
    const measure = async (load) => {
      const before = readProcessorTime(server.pid);
      const { answers } = await load();
      return { ...memoryParts(server.pid), answers, processorMs: readProcessorTime(server.pid) - before };
    };
    const result = {
      idle: await measure(() => pause(idle * 1000, { answers: 0 })),
      steady: await measure(() => this.#sendSteadily(server, seconds)),
      saturated: await measure(() => this.#saturate(server, seconds)),
    };
    await endProcess(server.child);
    return result;
  }

  async #sendSteadily({ port }, seconds) {
    const load = this.processes.startLoad(this.file, 'steady.mjs');
    const etag = (await fetch(`http://127.0.0.1:${port}/v1/manifest`)).headers.get('etag');
    await load({ begin: { port, etag, rates: RATES } });
    await pause(seconds * 1000);
    const { kinds } = await load({ collect: true });
    await load({ end: true });
    return { answers: sum(Object.values(kinds).map(({ times }) => times.length)) };
  }

  async #saturate({ port }, seconds) {
    const load = this.processes.startLoad(this.file);
    return load({ requestKind: 'telemetry', port, seconds, connections: CONNECTIONS });
  }

  #open({ program, flags }, preload) {
    const preloaded = preload ? ['--import', join(root, 'bench/start', preload)] : [];
    return this.processes.startService(this.settings, preloaded, { program, serviceFlags: flags });
  }
}
