import { ScriptError } from '../../scripts/prepare.mjs';

/**
 * Runs the retention as the hourly job does.
 * @param asOf the time of the run, by default the current one. With it, the checks of the clock always pass
 * @throws ScriptError if a step failed
 */
export async function runRetention(url, asOf) {
  const { Clock } = await import('../../dist/core/clock.js');
  const { DatabaseUrl } = await import('../../dist/database/data-source.js');
  const { RetentionService } = await import('../../dist/retention/retention.service.js');
  const clock = asOf ? { now: () => asOf, agreesWith: () => true, hasJumpedAhead: () => false } : new Clock();
  const service = new RetentionService(new DatabaseUrl(url), clock, { taxRetentionYears: 10 });
  const report = await service.run();
  if (!report || report.failed.length > 0)
    throw new ScriptError(`The retention run failed: ${report?.failed.map(({ error }) => error).join('; ')}`);
  return report;
}
