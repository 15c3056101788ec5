// The types that consumer.ts imports, from the types that Hey API generates.
import type {
  ActivateData,
  ActivateErrors,
  ActivateResponses,
  HeartbeatData,
  HeartbeatErrors,
  HeartbeatResponses,
  ReadKeysResponses,
  ReadManifestErrors,
  ReadManifestResponses,
} from './generated/types.gen.js';

export type ActivationRequest = ActivateData['body'];
export type Activated = ActivateResponses[201];
export type ActivateProblem = ActivateErrors[keyof ActivateErrors];
export type HeartbeatRequest = HeartbeatData['body'];
export type HeartbeatAnswer = HeartbeatResponses[200];
export type HeartbeatProblem = HeartbeatErrors[keyof HeartbeatErrors];
export type Manifest = ReadManifestResponses[200];
export type ManifestProblem = ReadManifestErrors[keyof ReadManifestErrors];
export type KeySet = ReadKeysResponses[200];
