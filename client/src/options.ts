import { checkedMachineId, readMachineId } from './machine-id.js';
import { TokenReader } from './license-token.js';
import { trustedKey } from './manifest-signature.js';
import { separateFetch } from './separate-fetch.js';
import { fileStorage, type StateStorage } from './state-file.js';
import type { Status } from './status.js';
import type { Telemetry } from './telemetry.js';
import { systemClock, systemTimers, type Clock, type Timers } from './time.js';
import type { Fetch } from './transport.js';
import type { UpdateCheck } from './update.js';
import { isVersion } from './version.js';

export interface ClientOptions {
  /** URL of the service: https, or http on a loopback address. The client appends `/v1/…`. */
  baseUrl: string;
  /** The name of the application. In capitals it is the prefix of the environment variable `<APP>_TELEMETRY_DISABLED`. */
  app: string;
  /** The product that manifests must be for, such as `com.example.app`. */
  product: string;
  /** The version of the application: dotted numeric, one to four parts. */
  appVersion: string;
  /** The manifest keys shipped with the application, JWK `x`: the current key and the next one. */
  trustedKeys: string[];
  /** Token keys shipped with the application, JWK `x`, as `GET /v1/keys` lists them. Without them no token signature is checked. */
  tokenKeys?: string[];
  /** The path of the JSON file with the state, in the user's own application folder. */
  stateFile: string;
  /** Returns the telemetry of each heartbeat; not called after an opt-out. May throw; must not block or be async. */
  telemetry?: () => Telemetry;
  /** Called on each change of the status; first with the status with which `start` resolves. May be async, and throw. */
  onStateChange?: (status: Status) => void;
  /** Called after each check, for the update-available menu item. May be async, and throw. */
  onUpdateCheck?: (check: UpdateCheck) => void;
  /** Receives one line at a time; never a key, a token, an e-mail address or a machine id. May be async, and throw. */
  log?: (message: string) => void;

  // Most applications leave out the options below. Tests and other platforms replace parts of the client with them.

  environment?: Record<string, string | undefined>;
  clock?: Clock;
  timers?: Timers;
  fetch?: Fetch;
  /** Replaces `stateFile`. */
  storage?: StateStorage;
  /** Returns a number from 0 to below 1. */
  random?: () => number;
  /** Returns the machine id: the SHA-256 digest of the hardware UUID in hex, never the UUID itself. */
  machineId?: () => Promise<string>;
}

/** Applies defaults and catches errors of callbacks. @throws if `appVersion` or a token key is invalid */
export function withDefaults(options: ClientOptions) {
  if (!isVersion(options.appVersion)) throw new Error('appVersion must be dotted numeric, one to four parts');
  const log = catchErrors(options.log ?? ((message: string) => console.info(message)));
  const environment = options.environment ?? process.env;
  const machineId = () => checkedMachineId(options.machineId ?? (() => readMachineId(environment)));
  return {
    ...options,
    log,
    onStateChange: catchErrors(options.onStateChange, log),
    onUpdateCheck: catchErrors(options.onUpdateCheck, log),
    environment,
    fetch: options.fetch ?? separateFetch,
    storage: options.storage ?? fileStorage(options.stateFile, log),
    random: options.random ?? Math.random,
    clock: options.clock ?? systemClock,
    timers: catchErrorsOfWork(options.timers ?? systemTimers, log),
    machineId,
    tokens: new TokenReader((options.tokenKeys ?? []).map(trustedKey), machineId),
  };
}

/** Catches the errors of work that timers start: no caller catches them, so they would end the application. */
function catchErrorsOfWork(timers: Timers, log: (message: string) => void): Timers {
  const inBackground = async (work: () => unknown) => {
    try {
      await work();
    } catch {
      log('a call in the background failed');
    }
  };
  return {
    set: (work, milliseconds) => timers.set(() => void inBackground(work), milliseconds),
    clear: (timer) => timers.clear(timer),
  };
}

/** Also catches the error of an async callback: no caller waits for it, so it would end the application. */
function catchErrors<T>(
  callback?: (value: T) => unknown,
  log?: (message: string) => void,
): (value: T) => void {
  const failed = () => log?.('a callback of the application failed');
  return (value) => {
    try {
      void Promise.resolve(callback?.(value)).catch(failed);
    } catch {
      failed();
    }
  };
}
