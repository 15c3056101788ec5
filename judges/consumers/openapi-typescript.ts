// The types of the consumer, of what openapi-typescript generates.
import type { operations } from './generated/openapi-typescript.js';

type Answers<Name extends keyof operations> = operations[Name]['responses'];
type Json<Answer> = Answer extends { content: { 'application/json': infer Body } } ? Body : never;
type Refusal<Answer> = Answer extends { content: { 'application/problem+json': infer Body } } ? Body : never;
type Sent<Name extends keyof operations> = operations[Name] extends {
  requestBody: { content: { 'application/json': infer Body } };
}
  ? Body
  : never;

export type ActivationRequest = Sent<'activate'>;
export type Activated = Json<Answers<'activate'>[201]>;
export type ActivateProblem = Refusal<Answers<'activate'>[keyof Answers<'activate'>]>;
export type HeartbeatRequest = Sent<'heartbeat'>;
export type HeartbeatAnswer = Json<Answers<'heartbeat'>[200]>;
export type HeartbeatProblem = Refusal<Answers<'heartbeat'>[keyof Answers<'heartbeat'>]>;
export type Manifest = Json<Answers<'readManifest'>[200]>;
export type ManifestProblem = Refusal<Answers<'readManifest'>[keyof Answers<'readManifest'>]>;
export type KeySet = Json<Answers<'readKeys'>[200]>;
