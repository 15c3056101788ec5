import type { DialogField } from '../../shared/dialogs/confirm-dialog.js';
import { DAY_INPUT, formatUtcDay } from '../../shared/dates/dates.js';
import { t } from '../../shared/texts/text.js';
import { messages } from '../messages.js';

const MACHINES_MAX = 100_000;
const texts = messages.change;

interface MachinesFieldOptions {
  readonly hint: string;
  readonly value?: string;
  /** Whether the field may be empty. */
  readonly isOptional?: boolean;
}

/** A field for the machine limit. */
export const machinesField = ({
  hint,
  value = '',
  isOptional = false,
}: MachinesFieldOptions): DialogField => ({
  label: texts.machines,
  value,
  hint,
  input: { inputMode: 'numeric', autocomplete: 'off' },
  check: (typed) => !(isMachines(typed) || (isOptional && typed === '')) && texts.machinesWrong,
});

const isMachines = (text: string) =>
  /^\d{1,6}$/.test(text) && Number(text) >= 1 && Number(text) <= MACHINES_MAX;

/**
 * A field for the last day of a license; it is empty if the license never expires. The hint shows the day in words, because the
 * browser shows it in numbers, whose order depends on the language.
 */
export const expiresField = (value = ''): DialogField => ({
  label: texts.expires,
  value,
  hint: (day) => (day === '' ? texts.expiresHint : t(texts.expiresOn, { day: formatUtcDay(day) })),
  input: DAY_INPUT,
  check: (day, isIncomplete) =>
    (isIncomplete || (day !== '' && day !== value && !isLastDay(day))) && messages.dayWrong,
});

/** The service takes an expiry in the years from 1970 to 9999, and the expiry is the day after the last one. */
const isLastDay = (day: string) => day >= '1970' && day < '9999-12-31';
