import { check } from './checker.js';
import type { FaultedDeployment } from './faulted-deployment.js';
import { FaultInjector, planFaults, type FaultKind } from './faults.js';
import { formatHistory } from './history.js';
import { plan } from './plan.js';
import { record, type Recorded } from './recorder.js';
import { shrinkHistory, type Contradiction } from './shrink.js';

/** The number of scenarios that run at the same time, each with its own license. */
const CONCURRENT_SCENARIOS = 6;

export interface HistoriesReport {
  /** The number of recorded operations. */
  operations: number;
  /** The number of operations without an outcome (`Operation.lossReason`), which may have taken effect or not. */
  unanswered: number;
  /** The number of checked histories. */
  histories: number;
  /** The number of histories without a verdict, because the checker visited too many states. */
  undecided: number;
  /** How often each command got each result. */
  readonly results: Record<string, number>;
  /** How often each kind of fault was injected. */
  readonly faults: Partial<Record<FaultKind, number>>;
  /** Errors of instances that no fault explains. */
  errors: string[];
  /** The contradictions of the histories that are not linearizable, as text. */
  readonly contradictions: string[];
}

/**
 * Runs the scenarios of consecutive seeds, from `seed + 1` on, while faults are injected, until enough operations are recorded, and
 * checks each history. @param onChecked is called after each history, with the contradiction if it is not linearizable
 */
export async function checkHistories(
  deployment: FaultedDeployment,
  seed: number,
  operations: number,
  onChecked: (report: HistoriesReport, contradiction?: string) => void = () => undefined,
): Promise<HistoriesReport> {
  const injector = new FaultInjector(deployment, planFaults(seed, operations));
  const { injectedCounts: faults } = injector;
  const report: HistoriesReport = {
    operations: 0,
    unanswered: 0,
    histories: 0,
    undecided: 0,
    results: {},
    faults,
    errors: [],
    contradictions: [],
  };
  let scenarioSeed = seed;
  const failures: unknown[] = [];
  const runScenarios = async () => {
    while (report.operations < operations && failures.length === 0) {
      const scenario = plan((scenarioSeed += 1));
      const name = `history-${scenario.seed}`;
      const recorded = await record(deployment, scenario, name, injector);
      onChecked(report, checkRecorded(recorded, report));
    }
  };
  // A failure is reported only when the other scenarios have ended.
  const workers = Array.from({ length: CONCURRENT_SCENARIOS }, () =>
    runScenarios().catch((error) => failures.push(error)),
  );
  await Promise.all(workers);
  await injector.end();
  if (failures.length > 0) throw failures[0];
  report.errors = deployment.errors;
  return report;
}

/** Checks a history and adds it to the report. @returns the contradiction, if the history is not linearizable */
function checkRecorded(recorded: Recorded, report: HistoriesReport): string | undefined {
  const { operations, initial } = recorded;
  report.histories += 1;
  report.operations += operations.length;
  for (const { command, outcome } of operations) {
    if (outcome === null) report.unanswered += 1;
    const name = `${command.type} ${outcome?.result ?? 'without an answer'}`;
    report.results[name] = (report.results[name] ?? 0) + 1;
  }
  const { verdict } = check(initial, operations);
  if (verdict === 'undecided') report.undecided += 1;
  if (verdict !== 'not linearizable') return undefined;
  const contradiction = describeContradiction(recorded);
  report.contradictions.push(contradiction);
  return contradiction;
}

/** Describes the contradiction, followed by the whole history in which it was found. */
function describeContradiction(recorded: Recorded): string {
  const { initial, operations } = recorded;
  const whole = `The whole history:\n\n${formatHistory(operations)}`;
  return `${formatContradiction(recorded, shrinkHistory(initial, operations))}\n\n${whole}`;
}

/** Formats the operations that contradict each other, with the license and the seed of the scenario. */
function formatContradiction(
  { scenario: { seed, isSold, machines_allowed, on_expiry } }: Pick<Recorded, 'scenario'>,
  { operations, irrelevantCount }: Contradiction,
): string {
  const license = isSold
    ? 'purchased license'
    : `license for ${machines_allowed} machines (on expiry: ${on_expiry})`;
  const others =
    irrelevantCount > 0
      ? `\nThe contradiction remains whether the ${irrelevantCount} other operations happened or not.`
      : '';
  return `No order of these operations on a ${license} (scenario seed ${seed}) explains their responses:\n\n${formatHistory(operations)}${others}`;
}
