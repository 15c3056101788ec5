/** The classes, functions and types that an application imports in addition to `MooringClient`. */
export * from './problem.js';
export type { ClientOptions } from './options.js';
export { isStoppedBy, type Status } from './status.js';
export type { CrashSignature, Telemetry } from './telemetry.js';
export type { Clock, Timers } from './time.js';
export type { Offer } from './signed-manifest.js';
export type { NoUpdateReason, UpdateCheck } from './update.js';
