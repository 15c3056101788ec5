interface Profile {
  add(kind: string, milliseconds: number): void;
}

/** Does something, and counts the time until it is done for `npm test -- --profile`. */
export async function profiled<Result>(kind: string, work: () => Promise<Result>): Promise<Result> {
  const profile = (globalThis as { [key: symbol]: Profile | undefined })[Symbol.for('mooring.profile')];
  if (!profile) return work();
  const began = performance.now();
  try {
    return await work();
  } finally {
    profile.add(kind, performance.now() - began);
  }
}
