/** A count of heartbeats: of a value, of two by their names, or of the rest. A value is null where nothing was said. */
export type Cell = { readonly heartbeats: number; readonly other?: true } & Readonly<
  Record<string, string | number | boolean | null | undefined>
>;

/** What a week's telemetry comes to; the tables are DIMENSIONS in the service's roll-up. */
export interface Week {
  readonly week_end: string;
  readonly app_version: readonly Cell[];
  readonly os_version: readonly Cell[];
  readonly hardware: readonly Cell[];
  readonly ram_gb_bucket: readonly Cell[];
  readonly detector_compute: readonly Cell[];
  readonly latency: readonly Latency[];
}

/** Milliseconds that a chip's inference took. */
export interface Latency {
  readonly soc_name: string;
  readonly p50: number;
  readonly p90: number;
  readonly p95: number;
}

export interface CrashGroup {
  readonly crash_sig: string;
  readonly crash_label: string | null;
  readonly crash_frame: string | null;
  readonly first_version: string | null;
  readonly last_version: string | null;
  /** Newest first; a week without one is left out. */
  readonly weeks: readonly { readonly week_end: string; readonly crashes: number }[];
}

export interface Fleet {
  /** Heartbeats a week under which nothing is shown by itself. */
  readonly threshold: number;
  /** Newest first. */
  readonly weeks: readonly Week[];
  readonly crash_groups: readonly CrashGroup[];
}
