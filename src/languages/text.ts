import type { Forms } from './messages.js';

/** Fills strings into a message: `t('Sent to {email}.', { email })`. */
export function t(message: string, parts: Readonly<Record<string, string>>): string {
  return message.replaceAll(/\{(\w+)\}/g, (whole, name: string) => parts[name] ?? whole);
}

/** Returns the form for a count, with the formatted count in place of `#`. */
export function pluralForm(forms: Forms, count: number, rules: Intl.PluralRules, formatted: string): string {
  return (forms[rules.select(count)] ?? forms.other).replace('#', formatted);
}
