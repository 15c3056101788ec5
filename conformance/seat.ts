import { NotChecked, once } from './check.ts';
import type { Answer } from './http.ts';
import { at, described } from './shape.ts';

/** What the first activation gave: what all that follows is compared with. */
export interface Seat {
  readonly answer: Answer;
  readonly token: string;
  readonly id: string;
}

/** The first activation, whatever came of it. */
export const firstActivation = once((service) => service.activate());

/** A license that its owner cannot use just now is no fault of the service. */
const REFUSED: Record<string, string> = {
  machine_limit_reached: 'the license has no free seat',
  license_suspended: 'the license is suspended',
  license_refunded: 'the license was refunded',
  license_revoked: 'the license was revoked',
  license_expired: 'the license has expired',
  version_not_covered: 'the license covers no version as old as the one that is reported',
};

/** Why the license itself allows no activation, or undefined where it does. */
export function refusal(answer: Answer): string | undefined {
  const code = at(answer.json, 'code');
  return answer.status >= 400 && typeof code === 'string' ? REFUSED[code] : undefined;
}

/** The seat of this run; whatever needs one is not checked without. */
export const seat = once(async (service): Promise<Seat> => {
  const answer = await firstActivation(service).catch(() => {
    throw new NotChecked('the first activation was not answered');
  });
  const refused = refusal(answer);
  if (refused) throw new NotChecked(refused);
  const [token, id] = [at(answer.json, 'token'), at(answer.json, 'activation', 'id')];
  if (answer.status >= 300 || typeof token !== 'string' || typeof id !== 'string')
    throw new NotChecked(`there is no activation to go on with: ${described(answer)}`);
  return { answer, token, id };
});
