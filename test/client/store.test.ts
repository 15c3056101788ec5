import { describe, expect, test } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { emptyState, type State } from '../../client/src/state.js';
import { Store } from '../../client/src/store.js';

describe('data saved before the state is read', () => {
  const native = { crash_kind: 'native' } as const;
  const python = { crash_kind: 'python' } as const;
  const seen = (sequence: number, digest: string) => ({ sequence, digest });

  async function loadAfterSaving(learned: Partial<State>, stored: Partial<State>): Promise<Readonly<State>> {
    const storage = { read: async () => ({ ...emptyState(), ...stored }), write: async () => undefined };
    const store = new Store(storage, () => undefined);
    await store.save(learned);
    await store.load();
    return store.state;
  }

  test('is kept: the crash of this run replaces the stored one', async () => {
    expect((await loadAfterSaving({ crash: native }, { crash: python })).crash).toEqual(native);
    expect((await loadAfterSaving({}, { crash: python })).crash).toEqual(python);
    expect((await loadAfterSaving({ crash: native }, {})).crash).toEqual(native);
  });

  test('is kept: the higher sequence of each key, or the stored one of two equal ones', async () => {
    const learned = {
      a: seen(3, 'learned'),
      b: seen(1, 'learned'),
      c: seen(2, 'learned'),
      d: seen(0, 'learned'),
    };
    const stored = { a: seen(2, 'stored'), b: seen(2, 'stored'), c: seen(2, 'stored'), e: seen(9, 'stored') };
    expect((await loadAfterSaving({ sequences: learned }, { sequences: stored })).sequences).toEqual({
      a: seen(3, 'learned'),
      b: seen(2, 'stored'),
      c: seen(2, 'stored'),
      d: seen(0, 'learned'),
      e: seen(9, 'stored'),
    });
  });
});

test('a write that fails is logged, and the next one is tried', async () => {
  const log: string[] = [];
  const written: State[] = [];
  const write = async (state: State) => {
    if (state.crash) throw new Error('the disk is full');
    written.push(state);
  };
  const store = new Store({ read: async () => emptyState(), write }, (line) => log.push(line));
  await store.save({ crash: { crash_kind: 'native' } });
  expect(log).toEqual(['the license state could not be written']);
  await store.save({ crash: null });
  expect(written).toEqual([emptyState()]);
  expect(store.isUnread).toBe(false);
});

test('only changed members are written, with those whose write failed', async () => {
  const written: string[][] = [];
  const failing = Promise.withResolvers<never>();
  const write = async (_: State, changed: ReadonlySet<keyof State>) => {
    written.push([...changed].toSorted());
    if (written.length === 1) await failing.promise;
  };
  const store = new Store({ read: async () => emptyState(), write }, () => undefined);
  const first = store.save({ stopped: null });
  await nextTurn();
  const second = store.save({ sequences: {} });
  failing.reject(new Error('the disk is full'));
  await Promise.all([first, second, store.save({ crash: null })]);
  await store.save({ license: null });
  expect(written.slice(0, 2)).toEqual([['stopped'], ['crash', 'sequences', 'stopped']]);
  expect(written.at(-1)).toEqual(['license']);
});

test('a member whose write failed is late, unless it was changed again since', async () => {
  const late: string[][] = [];
  const failing = [Promise.withResolvers<never>(), Promise.withResolvers<never>()];
  const write = async (_: State, __: unknown, names: ReadonlySet<keyof State>) => {
    late.push([...names].toSorted());
    await failing[late.length - 1]?.promise;
  };
  const store = new Store({ read: async () => emptyState(), write }, () => undefined);
  const first = store.save({ stopped: null, license: null, crash: null });
  await nextTurn();
  const second = store.save({ stopped: null });
  failing[0]!.reject(new Error('the disk is full'));
  await first;
  failing[1]!.reject(new Error('the disk is full'));
  await second;
  await store.save({ license: null });
  await store.save({ time: emptyState().time });
  expect(late).toEqual([[], ['crash', 'license'], ['crash', 'stopped'], []]);
});

test('a store is idle once the saved state is written', async () => {
  let isWritten = false;
  const write = async () => {
    await nextTurn();
    isWritten = true;
  };
  const store = new Store({ read: async () => emptyState(), write }, () => undefined);
  void store.save({ crash: null });
  await store.idle();
  expect(isWritten).toBe(true);
});
