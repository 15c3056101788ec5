interface Profile {
  add(kind: string, milliseconds: number): void;
}

/** Runs a function, and records its duration for `npm test -- --profile`. */
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
