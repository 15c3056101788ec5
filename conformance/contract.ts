import { activationRefusalChecks } from './activation-refusals.checks.ts';
import { activationChecks } from './activation.checks.ts';
import type { Group } from './check.ts';
import { headerChecks } from './headers.checks.ts';
import { healthChecks } from './health.checks.ts';
import { heartbeatChecks } from './heartbeat.checks.ts';
import { keysChecks } from './keys.checks.ts';
import { manifestChecks } from './manifest.checks.ts';
import { problemChecks } from './problems.checks.ts';
import { requestChecks } from './requests.checks.ts';
import { signedManifestChecks } from './signed-manifest.checks.ts';
import { telemetryChecks } from './telemetry.checks.ts';

/** Everything that is checked, in this order: the last two groups look at all answers to those before them. */
export const CONTRACT: readonly Group[] = [
  { name: 'Health', rule: 'contract 6, settings', checks: healthChecks },
  { name: 'Activation', rule: 'contract 1, activate', checks: activationChecks },
  { name: 'Refused activations', rule: 'contract 1, activate', checks: activationRefusalChecks },
  { name: 'Heartbeat', rule: 'contract 1, heartbeat', checks: heartbeatChecks },
  { name: 'Telemetry', rule: 'contract 1, heartbeat', checks: telemetryChecks },
  { name: 'Keys', rule: 'contract 1, keys', checks: keysChecks },
  { name: 'Manifest', rule: 'contract 1, manifest', checks: manifestChecks },
  { name: 'What the manifest signs', rule: 'keys, manifests', checks: signedManifestChecks },
  { name: 'Requests', rule: 'contract 1, common rules', checks: requestChecks },
  { name: 'Refusals', rule: 'contract 1, errors', checks: problemChecks },
  { name: 'Headers', rule: 'contract 1, common rules', checks: headerChecks },
];
