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

/** All checks, in their order: the last two groups read the answers to all checks before them. */
export const CONTRACT: readonly Group[] = [
  { name: 'Health', rule: 'docs/openapi.yaml', checks: healthChecks },
  { name: 'Activation', rule: 'docs/contract.md#activate', checks: activationChecks },
  { name: 'Refused activations', rule: 'docs/contract.md#activate', checks: activationRefusalChecks },
  { name: 'Heartbeat', rule: 'docs/contract.md#heartbeat', checks: heartbeatChecks },
  { name: 'Telemetry', rule: 'docs/contract.md#heartbeat', checks: telemetryChecks },
  { name: 'Keys', rule: 'docs/contract.md#token-keys', checks: keysChecks },
  { name: 'Manifest', rule: 'docs/contract.md#update-manifest', checks: manifestChecks },
  { name: 'Signed content of the manifest', rule: 'docs/keys.md#manifests', checks: signedManifestChecks },
  { name: 'Requests', rule: 'docs/contract.md#common-rules', checks: requestChecks },
  { name: 'Refusals', rule: 'docs/contract.md#errors', checks: problemChecks },
  { name: 'Headers', rule: 'docs/contract.md#common-rules', checks: headerChecks },
];
