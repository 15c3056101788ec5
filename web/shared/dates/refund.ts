import { formatDayWithYear } from './dates.js';

interface Ended {
  readonly ended_at: string | null;
  readonly ended_reason: 'released' | 'refunded' | null;
}

/**
 * Returns the day on which a refund ended a license, as its activations show it; undefined without a refund, and if the license had
 * no machine in use then.
 */
export function refundDay(activations: readonly Ended[]): string | undefined {
  const endedAt = activations.find(({ ended_reason }) => ended_reason === 'refunded')?.ended_at;
  return endedAt ? formatDayWithYear(endedAt) : undefined;
}
