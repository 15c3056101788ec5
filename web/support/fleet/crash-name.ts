import type { CrashGroup } from '../../../src/http/responses/api-types.js';
import { t } from '../../shared/texts/text.js';
import { messages } from '../messages.js';

/** Returns the label of a crash group, or its signature if it has no label. */
export const crashName = ({ crash_label, crash_sig }: CrashGroup): string =>
  crash_label ?? t(messages.fleet.group, { sig: crash_sig });
