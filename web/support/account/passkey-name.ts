import { formatDay } from '../../shared/dates/dates.js';
import { t } from '../../shared/texts/text.js';
import type { Passkey } from '../../../src/http/responses/api-types.js';
import { messages } from '../messages.js';

/** What a passkey is called: its name, or the day on which it was made. */
export const passkeyName = ({ name, created_at }: Passkey): string =>
  name ?? t(messages.passkeys.unnamed, { day: formatDay(created_at) });
