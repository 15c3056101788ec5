/** The state of a worker process that test files share. */
export type SharedState = Readonly<Record<string, unknown>>;

export declare function sharedState(): Promise<SharedState>;
export declare function leftovers(before: SharedState, maxWaitMs?: number): Promise<string[]>;
