import { setTimeout as pause } from 'node:timers/promises';
import { childrenOf } from './children.mjs';
import { isShared } from './shared-processes.mjs';

/** The longest wait until sockets and processes that a test file has closed are gone. */
const MAX_WAIT_MS = 60_000;

/** Global objects whose members are not compared. Of these only `process` itself is compared: Jest replaces the console. */
const UNCHECKED_GLOBALS = new Set(['globalThis', 'global', 'console', 'process']);

/** Kinds of handles that stay open by design, or that Node counts although no test opened them. */
const IGNORED_HANDLES = new Set([
  'Immediate',
  'FSReqPromise',
  'FSReqCallback',
  'CloseReq',
  'TickObject',
  'IntervalHistogram',
]);

/**
 * Reads the state of a worker process that test files share. If a file changes it, the result of a later file could change.
 */
export async function sharedState() {
  // The module is imported here, because it needs the hooks of the runtime, which is loaded after this file.
  const { sharedLimits } = await import('../limits.ts');
  return {
    environment: { ...process.env },
    directory: process.cwd(),
    'exit code': process.exitCode,
    globals: Object.fromEntries(globalMembers()),
    'listeners of the process': Object.fromEntries(
      process.eventNames().map((name) => [String(name), process.listenerCount(name)]),
    ),
    'child processes': Object.fromEntries(
      childrenOf(process.pid)
        .filter((pid) => !isShared(pid))
        .map((pid) => [pid, true]),
    ),
    limits: sharedLimits(),
    handles: handles(),
  };
}

/**
 * Finds what a file left behind, as a list of texts. Waits for sockets and child processes that are still closing.
 * @param before `sharedState()` before the file
 */
export async function leftovers(before, maxWaitMs = MAX_WAIT_MS) {
  for (const began = performance.now(); ;) {
    const found = difference(before, await sharedState());
    if (found.length === 0 || performance.now() - began > maxWaitMs) return found;
    await pause(10);
  }
}

function difference(before, after) {
  return Object.keys(before).flatMap((kind) => {
    const [was, is] = [before[kind], after[kind]];
    if (typeof was !== 'object')
      return Object.is(was, is) ? [] : [`${kind}: ${String(was)} became ${String(is)}`];
    // Added global objects are ignored, because a library may add some when the first file loads it.
    const names = kind === 'globals' ? Object.keys(was) : Object.keys({ ...was, ...is });
    const differs = (name) =>
      kind === 'handles' ? (is[name] ?? 0) > (was[name] ?? 0) : !Object.is(was[name], is[name]);
    return names.filter(differs).map((name) => `${kind}: ${name}`);
  });
}

/** Lists the global objects, and the functions that are their members or members of their prototypes. */
function globalMembers() {
  return Object.getOwnPropertyNames(globalThis).flatMap((name) => {
    const { value } = Object.getOwnPropertyDescriptor(globalThis, name);
    const own = [[name, value]];
    // Each copy of tslib sets such global helpers when it is loaded.
    if (name.startsWith('__')) return [];
    if (UNCHECKED_GLOBALS.has(name)) return name === 'process' ? own : [];
    for (const [path, object] of [
      [name, value],
      [`${name}.prototype`, value?.prototype],
    ]) {
      if ((typeof object !== 'object' && typeof object !== 'function') || object === null) continue;
      for (const [member, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(object)))
        if (member !== 'prototype' && typeof descriptor.value === 'function')
          own.push([`${path}.${member}`, descriptor.value]);
    }
    return own;
  });
}

function handles() {
  const counts = {};
  for (const name of process.getActiveResourcesInfo())
    if (!IGNORED_HANDLES.has(name)) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
