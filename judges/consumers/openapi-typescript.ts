// The types that consumer.ts imports, from the types that openapi-typescript generates.
import type { operations } from './generated/openapi-typescript.js';

type Answers<Name extends keyof operations> = operations[Name]['responses'];
type Json<Answer> = Answer extends { content: { 'application/json': infer Body } } ? Body : never;
type Problem<Answer> = Answer extends { content: { 'application/problem+json': infer Body } } ? Body : never;
type RequestBody<Name extends keyof operations> = operations[Name] extends {
  requestBody: { content: { 'application/json': infer Body } };
}
  ? Body
  : never;

export type ActivationRequest = RequestBody<'activate'>;
export type Activated = Json<Answers<'activate'>[201]>;
export type ActivateProblem = Problem<Answers<'activate'>[keyof Answers<'activate'>]>;
export type HeartbeatRequest = RequestBody<'heartbeat'>;
export type HeartbeatAnswer = Json<Answers<'heartbeat'>[200]>;
export type HeartbeatProblem = Problem<Answers<'heartbeat'>[keyof Answers<'heartbeat'>]>;
export type Manifest = Json<Answers<'readManifest'>[200]>;
export type ManifestProblem = Problem<Answers<'readManifest'>[keyof Answers<'readManifest'>]>;
export type KeySet = Json<Answers<'readKeys'>[200]>;
