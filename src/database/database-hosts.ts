import { databaseHost } from '../core/connection-urls.js';
import { hostUrls } from '../core/host-list.js';
import { connectionErrorCode, databaseAddress } from './access-errors.js';
import { askHost, type HostAnswer } from './host-answer.js';
import {
  choosePrimary,
  newestCluster,
  roleOf,
  type AnsweredHost,
  type Host,
  type HostRole,
  type HostState,
  type KnownCluster,
} from './host-choice.js';
import { REQUEST_TIMEOUTS_MS } from './request-timeouts.js';

/** After a search without result, new connections fail for this time without another search, so that standbys are not flooded. */
const SEARCH_PAUSE_MS = 250;

/** Which server a connection needs: the primary, or a standby for reads. */
export type WantedRole = 'primary' | 'standby';

/** A connection to a host. */
interface Connection {
  close(reason: string): void;
}

/** The error of a search that found no host with the wanted role. Its message says what each host answered. */
class NoUsableHost extends Error {}

/** A host that is in use, and the timeline of its server. */
interface UsedHost {
  readonly host: Host;
  readonly timeline: number;
}

/**
 * The hosts of a database URL with several hosts (docs/decisions/0054). All connections of a process that use the URL share
 * this object: when one of them finds a new primary, the connections to the former one are closed. The file is long, because
 * searches and connections change the same state.
 */
export class DatabaseHosts {
  static readonly #byUrl = new Map<string, DatabaseHosts>();
  readonly #hosts: readonly Host[];
  /** What each host answered in the last search. */
  #states: HostState[] = [];
  #known: KnownCluster | undefined;
  #current: UsedHost | undefined;
  /** Whether a connection has failed since a host was last chosen (`#use`). */
  #isSuspect = false;
  #runningSearch: Promise<Host> | undefined;
  #failedSearch: { readonly at: number; readonly error: unknown } | undefined;
  /** The open connections, with the host and the timeline of each. */
  readonly #connections = new Map<Connection, UsedHost>();
  readonly #listeners = new Set<(from: string, to: string, timeline: number) => void>();

  private constructor(
    urls: readonly string[],
    readonly wanted: WantedRole,
  ) {
    this.#hosts = urls.map(parseHost);
  }

  /** Returns the hosts of a URL, one object for each URL and wanted role; undefined if the URL has one host. */
  static of(url: string, wanted: WantedRole = 'primary'): DatabaseHosts | undefined {
    const urls = hostUrls(url);
    if (urls.length === 1) return undefined;
    const key = `${wanted} ${url}`;
    const hosts = this.#byUrl.get(key) ?? new DatabaseHosts(urls, wanted);
    this.#byUrl.set(key, hosts);
    return hosts;
  }

  /** The newest timeline of the database that this process has seen; undefined until a search has found it. */
  get timeline(): number | undefined {
    return this.#known?.timeline;
  }

  /** What each host was at the last search. */
  get roles(): { readonly host: string; readonly role: HostRole; readonly error?: unknown }[] {
    return this.#states.map((state) => ({
      host: state.address,
      role: roleOf(state, this.#known),
      error: state.error,
    }));
  }

  /** Calls a function when the primary has moved to another host or timeline. @returns a function that ends this */
  onMoved(listener: (from: string, to: string, timeline: number) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Returns the host for a new connection: the current one until it fails, then the result of a search. @throws as `search` */
  async find(): Promise<Host> {
    if (this.#current && !this.#isSuspect) return this.#current.host;
    if (this.#failedSearch && performance.now() - this.#failedSearch.at < SEARCH_PAUSE_MS)
      throw this.#failedSearch.error;
    return this.search();
  }

  /** Asks all hosts. Concurrent calls share a search. @throws NoUsableHost, or the error of the hosts if all have the same */
  search(): Promise<Host> {
    this.#runningSearch ??= this.#search()
      .catch((error: unknown) => {
        this.#failedSearch = { at: performance.now(), error };
        throw error;
      })
      .finally(() => (this.#runningSearch = undefined));
    return this.#runningSearch;
  }

  async #search(): Promise<Host> {
    const states: HostState[] = this.#hosts.map((host) => ({ ...host }));
    await new Promise<void>((resolve) => {
      const requests = this.#hosts.map(async (host, index) => {
        states[index] = await askHost(host.url).then(
          (answer) => ({ ...host, answer }),
          (error: unknown) => ({ ...host, error }),
        );
        // The former primary may hang after a promotion, so the others have only a short time to answer.
        if (this.#isPromoted(states[index])) setTimeout(resolve, REQUEST_TIMEOUTS_MS.otherHosts).unref();
      });
      void Promise.all(requests).then(() => resolve());
    });
    this.#states = states;
    const chosen = this.#choose(states);
    if (!chosen) {
      this.#closeOutdated();
      throw noUsableHost(states, this.#known, this.wanted);
    }
    this.#use({ host: chosen, timeline: chosen.answer.timeline });
    return chosen;
  }

  /** Whether a host is a primary on a newer timeline than this process has seen. */
  #isPromoted(state: HostState): boolean {
    const isPrimary = this.wanted === 'primary' && roleOf(state, this.#known) === 'primary';
    return isPrimary && this.#known !== undefined && state.answer!.timeline > this.#known.timeline;
  }

  #choose(states: readonly HostState[]): AnsweredHost | undefined {
    const current = this.#current?.host.address;
    this.#known = newestCluster(states, this.#known);
    if (this.wanted === 'primary') return choosePrimary(states, this.#known, current);
    const standbys = states.filter((each): each is AnsweredHost => roleOf(each, this.#known) === 'standby');
    return standbys.find(({ address }) => address === current) ?? standbys[0];
  }

  #use(next: UsedHost): void {
    const previous = this.#current;
    this.#current = next;
    this.#isSuspect = false;
    this.#failedSearch = undefined;
    if (!previous || isSame(previous, next)) return;
    this.#closeUnless((used) => isSame(used, next));
    for (const listener of this.#listeners) listener(previous.host.address, next.host.address, next.timeline);
  }

  /** Closes the connections to a former primary. A newer timeline proves that another primary exists, usable or not. */
  #closeOutdated(): void {
    const newest = this.wanted === 'primary' && this.#known ? this.#known.timeline : 0;
    this.#closeUnless(({ timeline }) => timeline >= newest);
  }

  #closeUnless(isUsable: (used: UsedHost) => boolean): void {
    for (const [connection, used] of this.#connections) {
      if (isUsable(used)) continue;
      this.#connections.delete(connection);
      connection.close(`the ${this.wanted} is another host`);
    }
  }

  /** Registers a new connection, whose server gave this answer. @throws Error if its server may not be used */
  accept(connection: Connection, address: string, answer: HostAnswer): void {
    const known = this.#known;
    const role = roleOf({ answer }, known);
    const host = this.#hosts.find((each) => each.address === address)!;
    if (role !== this.wanted) throw new Error(`Connection terminated: the server is ${role}`);
    if (this.wanted === 'primary' && known) this.#known = { ...known, timeline: answer.timeline };
    // If this host is not the chosen one: a newer timeline means that it was promoted after the search. Otherwise another host was
    // chosen while this connection was opened.
    const isNewer = answer.timeline > (this.#current?.timeline ?? 0);
    if (address === this.#current?.host.address || isNewer) this.#use({ host, timeline: answer.timeline });
    else throw new Error(`Connection terminated: the ${this.wanted} is another host`);
    this.#connections.set(connection, { host, timeline: answer.timeline });
  }

  /** Handles the loss of a connection: the next new one searches. */
  handleLost(connection: Connection): void {
    if (this.#connections.delete(connection)) this.suspect();
  }

  handleEnd(connection: Connection): void {
    this.#connections.delete(connection);
  }

  suspect(): void {
    this.#isSuspect = true;
  }
}

const isSame = (one: UsedHost, other: UsedHost): boolean =>
  one.host.address === other.host.address && one.timeline === other.timeline;

function parseHost(url: string): Host {
  const parsed = new URL(url);
  const hostname = databaseHost(parsed).replace(/^\[(.*)\]$/, '$1');
  return { address: databaseAddress(url), hostname, port: Number(parsed.port || 5432), url };
}

function noUsableHost(
  states: readonly HostState[],
  known: KnownCluster | undefined,
  wanted: WantedRole,
): unknown {
  const codes = new Set(states.map(({ error }) => error && connectionErrorCode(error)));
  // All hosts have failed in the same way, such as with a wrong password.
  if (codes.size === 1 && states[0]!.error) return states[0]!.error;
  const hosts = states.map(
    (state) => `${state.address} ${state.error ? connectionErrorCode(state.error) : roleOf(state, known)}`,
  );
  const clusters = new Set(states.flatMap(({ answer }) => answer?.cluster ?? []));
  const reason = !known && clusters.size > 1 ? ', because they belong to different databases' : '';
  return new NoUsableHost(`No host is the ${wanted}${reason}: ${hosts.join(', ')}`);
}
