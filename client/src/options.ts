import { checkedMachineId, readMachineId } from './machine-id.js';
import { TokenReader } from './license-token.js';
import { trustedKey } from './manifest-signature.js';
import { fileStorage, type StateStorage } from './state-file.js';
import type { Status } from './status.js';
import type { Telemetry } from './telemetry.js';
import { systemClock, systemTimers, type Clock, type Timers } from './time.js';
import type { Fetch } from './transport.js';
import type { UpdateCheck } from './update.js';
import { isVersion } from './version.js';

export interface ClientOptions {
  /** Where the service is: https, or http on a loopback address. `/v1/…` is added to it. */
  baseUrl: string;
  /** The application's name before `_TELEMETRY_DISABLED` in the environment variable. */
  app: string;
  /** The product that manifests must be for, `com.example.app`. */
  product: string;
  /** Dotted numeric, one to four parts. */
  appVersion: string;
  /** The manifest keys shipped with the application, JWK `x`: the current one and the next. */
  trustedKeys: string[];
  /** Token keys shipped with the application, JWK `x`, as `GET /v1/keys` lists them. None: no signature is checked. */
  tokenKeys?: string[];
  /** One JSON file in the user's own application folder. */
  stateFile: string;
  /** Called for each heartbeat, unless the user opted out. May throw; must not block. */
  telemetry?: () => Telemetry;
  /** Called on each change of the status, first when `start` has decided. */
  onStateChange?: (status: Status) => void;
  /** Called after each check, for the update-available menu item. */
  onUpdateCheck?: (check: UpdateCheck) => void;
  /** Gets one line at a time; never a key, a token, an e-mail or a machine id. */
  log?: (message: string) => void;

  /** The other options are for tests and for ports of the client. */
  environment?: Record<string, string | undefined>;
  clock?: Clock;
  timers?: Timers;
  fetch?: Fetch;
  /** In place of `stateFile`. */
  storage?: StateStorage;
  /** From 0 up to 1. */
  random?: () => number;
  /** The digest, never the UUID itself. */
  machineId?: () => Promise<string>;
}

/** Applies defaults, makes callbacks safe, and reports mistakes of the embedding application at once. */
export function completed(options: ClientOptions) {
  if (!isVersion(options.appVersion)) throw new Error('appVersion must be dotted numeric, one to four parts');
  const log = harmless(options.log ?? ((message: string) => console.info(message)));
  const machineId = () => checkedMachineId(options.machineId ?? readMachineId);
  return {
    ...options,
    log,
    onStateChange: harmless(options.onStateChange, log),
    onUpdateCheck: harmless(options.onUpdateCheck, log),
    environment: options.environment ?? process.env,
    fetch: options.fetch ?? ((url: string, init: RequestInit) => fetch(url, init)),
    storage: options.storage ?? fileStorage(options.stateFile, log),
    random: options.random ?? Math.random,
    clock: options.clock ?? systemClock,
    timers: guarded(options.timers ?? systemTimers, log),
    machineId,
    tokens: new TokenReader((options.tokenKeys ?? []).map(trustedKey), machineId),
  };
}

/** A failure without a caller must not end the application. */
function guarded(timers: Timers, log: (message: string) => void): Timers {
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

function harmless<T>(callback?: (value: T) => void, log?: (message: string) => void): (value: T) => void {
  return (value) => {
    try {
      callback?.(value);
    } catch {
      log?.('a callback of the application failed');
    }
  };
}
