import { setTimeout as pause } from 'node:timers/promises';
import { childrenOf } from './children.mjs';
import { isShared } from './shared-processes.mjs';

/** The longest wait for sockets and processes that a test file has ended; no test measures it. */
const GUARD_MS = 60_000;

/** Global objects that refer to themselves, and those that Jest replaces for each file. */
const UNCHECKED_GLOBALS = new Set(['globalThis', 'global', 'console', 'process']);

/** Handles that are kept after a file by design, or that Node counts although no test opened them. */
const SHARED_HANDLES = new Set([
  'Immediate',
  'FSReqPromise',
  'FSReqCallback',
  'CloseReq',
  'TickObject',
  'IntervalHistogram',
]);

/**
 * The state of a worker process that test files share. If a file changes it, the result of the next file could be another.
 */
export async function sharedState() {
  // Imported here, because it needs the hooks of the runtime, which is loaded after this module.
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
 * Returns what a file left behind, one line each. It waits for sockets and child processes that are ending.
 * @param before `sharedState()` before the file
 */
export async function leftovers(before, guardMs = GUARD_MS) {
  for (const began = performance.now(); ;) {
    const found = difference(before, await sharedState());
    if (found.length === 0 || performance.now() - began > guardMs) return found;
    await pause(10);
  }
}

function difference(before, after) {
  return Object.keys(before).flatMap((kind) => {
    const [was, is] = [before[kind], after[kind]];
    if (typeof was !== 'object')
      return Object.is(was, is) ? [] : [`${kind}: ${String(was)} became ${String(is)}`];
    // A library adds global objects when it is first loaded, which any file may do.
    const names = kind === 'globals' ? Object.keys(was) : Object.keys({ ...was, ...is });
    const differs = (name) =>
      kind === 'handles' ? (is[name] ?? 0) > (was[name] ?? 0) : !Object.is(was[name], is[name]);
    return names.filter(differs).map((name) => `${kind}: ${name}`);
  });
}

/** Global objects, and the members of those that are classes or collections of functions. */
function globalMembers() {
  return Object.getOwnPropertyNames(globalThis).flatMap((name) => {
    const { value } = Object.getOwnPropertyDescriptor(globalThis, name);
    const own = [[name, value]];
    // Each copy of tslib sets its helpers, whenever it is loaded.
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
    if (!SHARED_HANDLES.has(name)) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
