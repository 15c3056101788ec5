import { createHash } from 'node:crypto';
import { MACHINE_ID, type Deployment } from './deployment.ts';
import { successfulActivation } from './first-activation.ts';
import type { Answer } from './http.ts';
import { NotChecked } from './not-checked.ts';
import { at } from './shape.ts';

const JWS = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** A token that is a JWS. */
export interface Token {
  readonly text: string;
  /** The parsed claims; undefined if they are not JSON. The signature is not verified. */
  readonly claims: unknown;
  /** The claim `mch` that a token of this machine has. */
  readonly mch: string;
  /** The answer that contained the token. */
  readonly answer: unknown;
}

/** The tokens of all activations and heartbeats so far that are JWS. @throws NotChecked if there are none */
export async function jwsTokens(service: Deployment): Promise<Token[]> {
  await successfulActivation(service);
  const tokens = service.answers.flatMap(({ json, sent }) => {
    const text = at(json, 'token');
    return typeof text === 'string' && JWS.test(text)
      ? [{ text, claims: claimsOf(text), mch: machineDigest(machineOf(sent)), answer: json }]
      : [];
  });
  if (tokens.length === 0)
    throw new NotChecked('the contract leaves the format of a token open, and this one is not a JWS');
  return tokens;
}

function claimsOf(token: string): unknown {
  try {
    return JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString());
  } catch {
    return undefined;
  }
}

/** The machine of a request. A heartbeat names none: each is for the machine of the run. */
const machineOf = (sent: Answer['sent']) => sent.find((text) => /^[0-9a-f]{64}$/i.test(text)) ?? MACHINE_ID;

/** The claim `mch` (docs/keys.md#license-tokens). */
function machineDigest(machine_id: string): string {
  const bytes = Buffer.concat([Buffer.from('mooring machine v1\0'), Buffer.from(machine_id, 'hex')]);
  return createHash('sha256').update(bytes).digest().subarray(0, 16).toString('base64url');
}
