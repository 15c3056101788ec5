/** A client sends a heartbeat every six hours (docs/contract.md#heartbeat). */
export const HEARTBEATS_A_DAY = 4;
export const DAY_SECONDS = 86_400;
export const MILLION = 1_000_000;
/** The heartbeats that so many clients send in a second, at an even rate. */
export const heartbeatsPerSecond = (clients) => (clients * HEARTBEATS_A_DAY) / DAY_SECONDS;
