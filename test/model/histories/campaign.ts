import { check } from './checker.js';
import type { FaultedDeployment } from './faulted-deployment.js';
import { FaultInjector, planFaults, type FaultKind } from './faults.js';
import { printed } from './history.js';
import { plan } from './plan.js';
import { record, type Recorded } from './recorder.js';
import { smallest, type Contradiction } from './shrink.js';

/** Licenses whose clients work at the same time. */
const LICENSES_AT_ONCE = 6;

export interface CampaignResult {
  operations: number;
  /** How many of them had no response, so that they may have taken effect or not. */
  unanswered: number;
  histories: number;
  /** Histories whose search was aborted because it visited too many states. */
  undecided: number;
  /** How often each answer was given. */
  readonly answers: Record<string, number>;
  readonly faults: Partial<Record<FaultKind, number>>;
  /** Log lines of instances that no fault explains. */
  errors: string[];
  /** The printed histories that are not linearizable. */
  readonly findings: string[];
}

/** Runs the scenarios of consecutive seeds until enough operations are recorded, and checks each history. */
export async function campaign(
  deployment: FaultedDeployment,
  seed: number,
  operations: number,
  progress: (result: CampaignResult, finding?: string) => void = () => undefined,
): Promise<CampaignResult> {
  const injector = new FaultInjector(deployment, planFaults(seed, operations));
  const { struck: faults } = injector;
  const result: CampaignResult = {
    operations: 0,
    unanswered: 0,
    histories: 0,
    undecided: 0,
    answers: {},
    faults,
    errors: [],
    findings: [],
  };
  let next = seed;
  const failures: unknown[] = [];
  const work = async () => {
    while (result.operations < operations && failures.length === 0) {
      const scenario = plan((next += 1));
      const name = `history-${scenario.seed}`;
      const recorded = await record(deployment, scenario, name, injector);
      progress(result, checkRecorded(recorded, result));
    }
  };
  // The other scenarios complete before a failure is reported.
  const workers = Array.from({ length: LICENSES_AT_ONCE }, () =>
    work().catch((error) => failures.push(error)),
  );
  await Promise.all(workers);
  await injector.end();
  if (failures.length > 0) throw failures[0];
  result.errors = deployment.errors;
  return result;
}

/** @returns the finding, if the history is not linearizable */
function checkRecorded(recorded: Recorded, result: CampaignResult): string | undefined {
  const { operations, initial } = recorded;
  result.histories += 1;
  result.operations += operations.length;
  for (const { command, outcome } of operations) {
    if (outcome === null) result.unanswered += 1;
    const name = `${command.do} ${outcome?.says ?? 'without an answer'}`;
    result.answers[name] = (result.answers[name] ?? 0) + 1;
  }
  const { verdict } = check(initial, operations);
  if (verdict === 'undecided') result.undecided += 1;
  if (verdict !== 'not linearizable') return undefined;
  const finding = explained(recorded);
  result.findings.push(finding);
  return finding;
}

/** The contradiction as text, followed by the whole history in which it was found. */
export function explained(recorded: Recorded): string {
  const { initial, operations } = recorded;
  const whole = `The whole history:\n\n${printed(operations)}`;
  return `${contradiction(recorded, smallest(initial, operations))}\n\n${whole}`;
}

/** The operations that contradict each other, with what a person needs to know beside them. */
export function contradiction(
  { scenario: { seed, isSold, machines_allowed, on_expiry } }: Pick<Recorded, 'scenario'>,
  { operations, irrelevant }: Contradiction,
): string {
  const license = isSold
    ? 'sold license'
    : `license for ${machines_allowed} machines (on expiry: ${on_expiry})`;
  const others =
    irrelevant > 0
      ? `\n${irrelevant} other operations do not explain it either, whether they happened or not.`
      : '';
  return `No order of these operations on a ${license} (seed ${seed}) has these answers:\n\n${printed(operations)}${others}`;
}
