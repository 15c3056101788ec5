import { DIMENSIONS, TELEMETRY_FIELDS } from '../../telemetry/telemetry.fields.js';
import { EXEMPT_TABLES, createRetentionPolicy } from '../../retention/policy.js';
import { formatPeriod } from './privacy-data.js';

/**
 * Creates the generated parts of `docs/privacy.md`: its tables, and the list of the fields that are counted by week.
 * @param taxRetentionYears the default of TAX_RETENTION_YEARS
 * @returns each part by the name in its markers
 */
export function privacyParts(taxRetentionYears: number): Record<string, string> {
  const fields = Object.entries(TELEMETRY_FIELDS).map(([name, { shape, example, meaning }]) => [
    `\`${name}\``,
    shape,
    `\`${JSON.stringify(example)}\``,
    meaning,
  ]);
  const rules = createRetentionPolicy({ taxRetentionYears }).map(({ table, description, period, months }) => [
    `\`${table}\``,
    description,
    formatPeriod(period, months, 'en'),
  ]);
  const exceptions = Object.entries(EXEMPT_TABLES).map(([table, why]) => [`\`${table}\``, why]);
  const dimensions = Object.values(DIMENSIONS).map((names) => `- \`${names.join('` with `')}\``);
  return {
    fields: table(['field', 'value', 'example', 'meaning'], fields),
    dimensions: dimensions.join('\n'),
    retention: table(['table', 'what', 'kept'], rules),
    exceptions: table(['table', 'why'], exceptions),
  };
}

/** Replaces each generated part between its markers in the page. @throws Error if the page lacks a marker */
export function updatePrivacyPage(page: string, taxRetentionYears: number): string {
  return Object.entries(privacyParts(taxRetentionYears)).reduce((text, [name, content]) => {
    const between = new RegExp(`(?<=<!-- ${name} -->\\n\\n).*?(?=\\n\\n<!-- end of ${name} -->)`, 's');
    if (!between.test(text)) throw new Error(`docs/privacy.md has no markers for ${name}`);
    return text.replace(between, () => content);
  }, page);
}

function table(head: string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
