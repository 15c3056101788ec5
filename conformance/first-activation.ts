import { once } from './check.ts';
import type { Answer } from './http.ts';
import { NotChecked } from './not-checked.ts';
import { at, describeAnswer } from './shape.ts';

/** The first activation of a run, with which later answers are compared. */
interface SuccessfulActivation {
  readonly answer: Answer;
  readonly token: string;
  readonly id: string;
}

/** The answer to the first activation of a run, which may be a refusal. */
export const firstActivation = once((service) => service.activate());

/** The codes of refusals that are caused by the license and are no fault of the service, with the reason in words. */
const REASONS: Record<string, string> = {
  machine_limit_reached: 'the license has no machine left',
  license_suspended: 'the license is suspended',
  license_refunded: 'the license was refunded',
  license_revoked: 'the license was revoked',
  license_expired: 'the license has expired',
  version_not_covered: 'the version that the checks report was published, and the license does not cover it',
};

/** Returns why the license does not allow the activation; undefined if the answer names no such reason. */
export function refusalReason(answer: Answer): string | undefined {
  const code = at(answer.json, 'code');
  return answer.status >= 400 && typeof code === 'string' ? REASONS[code] : undefined;
}

/** The activation of this run. @throws NotChecked without one, so that the checks that need it end as not checked */
export const successfulActivation = once(async (service): Promise<SuccessfulActivation> => {
  const answer = await firstActivation(service).catch(() => {
    throw new NotChecked('the first activation was not answered');
  });
  const reason = refusalReason(answer);
  if (reason) throw new NotChecked(reason);
  const [token, id] = [at(answer.json, 'token'), at(answer.json, 'activation', 'id')];
  if (answer.status >= 300 || typeof token !== 'string' || typeof id !== 'string')
    throw new NotChecked(`there is no activation for the other checks: ${describeAnswer(answer)}`);
  return { answer, token, id };
});
