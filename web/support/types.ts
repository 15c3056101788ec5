import type {
  LicenseDetailAnswer,
  ManifestListAnswer,
  ReleaseDecisionAnswer,
  ReleaseQueueAnswer,
  RetentionListAnswer,
  StaffMember,
  TokenListAnswer,
} from '../../src/http/responses/api-types.js';

// Names for parts of answers that have no name in docs/openapi.yaml.
export type Role = StaffMember['role'];
export type LicenseDetail = LicenseDetailAnswer['license'];
export type WaitingRequest = ReleaseQueueAnswer['release_requests'][number];
export type Decision = ReleaseDecisionAnswer['release_request']['decision'];
export type Token = TokenListAnswer['tokens'][number];
export type Manifest = ManifestListAnswer['manifests'][number];
export type RetentionRun = RetentionListAnswer['runs'][number];
