// A client written with generated types. `npm run judges` compiles it with the types of each generator (`api.ts` is a copy of
// openapi-typescript.ts or of hey-api.ts) and never runs it. If a type became `any` or `unknown`, it does not compile.
import type {
  Activated,
  ActivateProblem,
  ActivationRequest,
  HeartbeatAnswer,
  HeartbeatProblem,
  HeartbeatRequest,
  KeySet,
  Manifest,
  ManifestProblem,
} from './api.js';

/** True for two identical types; `any` and `unknown` equal no other type. */
type IsSame<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Compiles only if its type argument is true. */
const assertTrue = <_ extends true>(): void => undefined;

assertTrue<IsSame<Activated['token'], string>>();
assertTrue<IsSame<Activated['heartbeat_after_seconds'], number>>();
assertTrue<IsSame<Activated['activation']['hostname_hint'], string | null>>();
assertTrue<IsSame<Activated['license']['status'], 'active'>>();
assertTrue<IsSame<Activated['license']['expires_at'], string | null>>();
assertTrue<IsSame<HeartbeatAnswer['offline_until'], string>>();
assertTrue<IsSame<NonNullable<HeartbeatAnswer['telemetry']>['stored'], boolean>>();
assertTrue<IsSame<Manifest['minimum_license_expiry'], string | null>>();
assertTrue<IsSame<Manifest['signatures'][number]['signature'], string>>();
assertTrue<IsSame<KeySet['keys'][number]['key_ops'][number], 'verify'>>();
assertTrue<IsSame<KeySet['keys'][number]['for'], 'license-token' | 'update-manifest'>>();
assertTrue<IsSame<NonNullable<NonNullable<HeartbeatRequest['telemetry']>['cpu_cores']>, number>>();

export const request: ActivationRequest = {
  license_key: 'MOOR_E6S7-Z8KJ-TB3R-QKX6',
  email: 'ada@example.com',
  machine_id: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  app_version: '3.2.0',
};
// @ts-expect-error -- the license key is missing
export const keyless: ActivationRequest = { email: '', machine_id: '', app_version: '' };
export const heartbeat: HeartbeatRequest = {
  token: 'a token',
  app_version: '3.2.0',
  telemetry: { cpu_cores: 10, detector_compute: 'ane' },
};
// @ts-expect-error -- a value that the document does not list
export const wrong: HeartbeatRequest = { ...heartbeat, telemetry: { detector_compute: 'abacus' } };

export function freeMachines({ license }: Activated): number {
  return license.machines_allowed - license.machines_in_use;
}

export function droppedFields({ telemetry }: HeartbeatAnswer): readonly string[] {
  return telemetry?.dropped ?? [];
}

export function algorithms({ keys }: KeySet): readonly 'Ed25519'[] {
  return keys.map(({ alg }) => alg);
}

export function explain(problem: ActivateProblem): string {
  switch (problem.code) {
    case 'license_expired':
      return `expired at ${problem.expired_at.slice(0, 10)}`;
    case 'version_not_covered':
      return (
        problem.newest_covered_version?.trim() ?? `needs a license until ${problem.minimum_license_expiry}`
      );
    case 'machine_limit_reached':
      return `${problem.machines_in_use.toFixed()} of ${problem.machines_allowed.toFixed()}`;
    case 'invalid_request':
      return problem.errors.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; ');
    case 'license_not_found':
    case 'license_suspended':
    case 'license_refunded':
    case 'license_revoked':
      return problem.client_action satisfies 'stop';
    case 'malformed_request':
    case 'body_too_large':
    case 'unsupported_media_type':
      return problem.client_action satisfies 'fix';
    case 'internal_error':
    case 'unavailable':
      return problem.client_action satisfies 'retry';
    default:
      return problem satisfies never;
  }
}

/** Checks that the generated types connect each `client_action` with its codes. */
export function afterHeartbeat(problem: HeartbeatProblem): 'stop' | 'reactivate' | 'continue' {
  switch (problem.client_action) {
    case 'stop':
      assertTrue<IsSame<Extract<typeof problem, { code: 'binding_released' }>['status'], 403>>();
      return 'stop';
    case 'reactivate':
      return (problem.code satisfies 'token_invalid') && 'reactivate';
    case 'fix':
    case 'retry':
      return 'continue';
    default:
      return problem satisfies never;
  }
}

export function isNoVersionPublished(problem: ManifestProblem): boolean {
  assertTrue<IsSame<typeof problem.code, 'no_version_published' | 'internal_error' | 'unavailable'>>();
  return problem.code === 'no_version_published';
}
