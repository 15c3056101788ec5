import type { HostAnswer } from './host-answer.js';

/** A host of a database URL. */
export interface Host {
  /** The name and the port, which identify the host and are shown in messages. */
  readonly address: string;
  /** A name, an address, or the folder of a Unix socket. */
  readonly hostname: string;
  readonly port: number;
  /** The URL with this host alone. */
  readonly url: string;
}

/** A host, and what it answered. */
export interface HostState extends Host {
  /** Undefined if the host has not answered. */
  readonly answer?: HostAnswer;
  readonly error?: unknown;
}
export type AnsweredHost = HostState & { readonly answer: HostAnswer };

/** The cluster that a process uses, by its system identifier, and the newest timeline of its WAL that the process has seen. */
export interface KnownCluster {
  readonly cluster: string;
  readonly timeline: number;
}

/** How a process may use a host, or why it may not. */
export type HostRole = 'primary' | 'standby' | 'read_only' | 'outdated' | 'other_cluster' | 'unreachable';

/**
 * Returns the cluster of the hosts with its newest timeline. A standby counts too: its timeline proves that a primary with this
 * timeline exists, even if that primary does not answer.
 * @param known what was known before; a host of another cluster is then ignored
 * @returns undefined if nothing was known, and no host has answered or the hosts belong to different clusters
 */
export function newestCluster(
  states: readonly HostState[],
  known: KnownCluster | undefined,
): KnownCluster | undefined {
  const answers = states.flatMap(({ answer }) => answer ?? []);
  const [cluster, ...others] = known ? [known.cluster] : new Set(answers.map((each) => each.cluster));
  if (cluster === undefined || others.length > 0) return undefined;
  const timelines = answers.filter((each) => each.cluster === cluster).map(({ timeline }) => timeline);
  return { cluster, timeline: Math.max(known?.timeline ?? 0, ...timelines) };
}

/** Returns what a host is. A server that accepts writes on an older timeline is a former primary (docs/decisions/0054). */
export function roleOf({ answer }: Pick<HostState, 'answer'>, newest: KnownCluster | undefined): HostRole {
  if (!answer) return 'unreachable';
  if (newest && answer.cluster !== newest.cluster) return 'other_cluster';
  if (answer.is_standby) return 'standby';
  if (newest && answer.timeline < newest.timeline) return 'outdated';
  return answer.is_read_only ? 'read_only' : 'primary';
}

/**
 * Chooses the primary. @param current the address of the host in use
 * @returns undefined if no host may be written to, or if two servers accept writes on the newest timeline and neither is in use,
 *   because one of them was promoted by mistake and no server can say which
 */
export function choosePrimary(
  states: readonly HostState[],
  newest: KnownCluster | undefined,
  current: string | undefined,
): AnsweredHost | undefined {
  if (!newest) return undefined;
  const primaries = states
    .filter((state): state is AnsweredHost => state.answer !== undefined)
    .filter((state) => roleOf(state, newest) === 'primary');
  // Two addresses may lead to one server, which then counts once: the start time of a server identifies it.
  const servers = new Set(primaries.map(({ answer }) => answer.started_at));
  return (
    primaries.find(({ address }) => address === current) ?? (servers.size === 1 ? primaries[0] : undefined)
  );
}
