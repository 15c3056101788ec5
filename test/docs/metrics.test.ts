import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { createDatabase, Service } from '../support/harness.js';
import { labelsOf, scrapeText } from '../support/http/scrape.js';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string };
}

interface Metric {
  readonly type: string;
  readonly help: string;
  /** The observed values of each label. */
  readonly labels: Map<string, Set<string>>;
}

const METRICS_PAGE = readFileSync('docs/operations/monitoring.md', 'utf8');
const ALERTS_PAGE = readFileSync('docs/operations/alerts.md', 'utf8');
const { groups } = parse(readFileSync('docs/alerts.yml', 'utf8')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap(({ rules }) => rules);
/** Labels that are not in METRICS_PAGE: Prometheus adds `instance`, and each bucket of a histogram has `le`. */
const UNLISTED_LABELS = ['instance', 'le'];

let database: Awaited<ReturnType<typeof createDatabase>>;
let service: Service;
let served: Map<string, Metric>;
beforeAll(async () => {
  database = await createDatabase();
  const { url: databaseUrl } = database;
  // The service has a replica and data, so that every metric has a line.
  const environment = { METRICS_PORT: '0', DATABASE_READ_URL: databaseUrl };
  service = await Service.start({ databaseUrl, environment });
  const { json } = await service.activate(await service.issue());
  await service.heartbeat(json.token, { telemetry: { uptime_hours: 1 } });
  await service.sql(`insert into telemetry (id, received_on) values (gen_random_uuid(), '2026-11-01')`);
  await service.sql(`update activation set ended_at = now(), ended_reason = 'released'`);
  served = metricsIn(await scrapeText(service));
});
afterAll(async () => {
  await service?.close();
  await database?.drop();
});

function metricsIn(text: string): Map<string, Metric> {
  const blocks = text.trim().split('\n\n');
  return new Map(
    blocks.map((block) => {
      const [, name, help] = /^# HELP (\S+) (.+)$/m.exec(block)!;
      const labels = labelsOf(block);
      labels.delete('le');
      return [name!, { type: /^# TYPE \S+ (\w+)$/m.exec(block)![1]!, help: help!, labels }];
    }),
  );
}

test('the table of docs/operations/monitoring.md lists every served metric, and no other', () => {
  const documented = METRICS_PAGE.matchAll(/^\| `(mooring_\w+)` *\| (\w+) *\| (.*?) *\| (.+?) *\|$/gm);
  const rows = [...documented].map(([, name, type, labels, help]) => [name, type, labels, help]);
  const expected = [...served].map(([name, { type, labels, help }]) => [
    name,
    type,
    [...labels.keys()].map((label) => `\`${label}\``).join(', '),
    help,
  ]);
  expect(rows).toEqual(expected);
});

test('names have the prefix mooring_, and only counters end in _total', () => {
  for (const [name, { type }] of served) {
    expect(name).toMatch(/^mooring_[a-z]+(_[a-z0-9]+)*$/);
    expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
  }
});

test.each(rules)('$alert uses existing metrics and labels', ({ expr }) => {
  const names = expr.match(/\bmooring_\w+/g) ?? [];
  expect(names.length).toBeGreaterThan(0);
  for (const name of names) expect(metricOf(name)).toBeDefined();
  for (const [, name, selectors] of expr.matchAll(/(mooring_\w+)\{([^}]*)\}/g)) {
    for (const [, label, operator, value] of selectors!.matchAll(/(\w+)(=~?)"([^"]*)"/g)) {
      const values = metricOf(name!)!.labels.get(label!);
      expect([label, values]).toEqual([label, expect.any(Set)]);
      if (operator === '=') expect([...values!]).toContain(value);
    }
  }
  for (const [, by] of expr.matchAll(/\bby \(([^)]*)\)/g)) {
    const known = [...UNLISTED_LABELS, ...names.flatMap((name) => [...metricOf(name)!.labels.keys()])];
    expect(known).toEqual(expect.arrayContaining(by!.split(', ')));
  }
});

/** Finds a metric by its name, or by the name of a series of a histogram. */
function metricOf(name: string): Metric | undefined {
  const [, histogram] = /^(.+)_(bucket|sum|count)$/.exec(name) ?? [];
  const histogramMetric = histogram === undefined ? undefined : served.get(histogram);
  return histogramMetric?.type === 'histogram' ? histogramMetric : served.get(name);
}

test('each rule has an expression, a duration, a severity and a summary, which docs/operations/alerts.md repeats', () => {
  for (const rule of rules) {
    expect(rule).toEqual({
      alert: expect.stringMatching(/^Mooring[A-Z][A-Za-z]+$/),
      expr: expect.any(String),
      for: expect.stringMatching(/^\d+[mh]$/),
      labels: { severity: expect.stringMatching(/^(page|ticket)$/) },
      annotations: { summary: expect.stringMatching(/^[A-Z].+\.$/) },
    });
  }
  const documented = ALERTS_PAGE.matchAll(
    /^## (\w+)\n\n```promql\n([\s\S]+?)\n```\n\n([\s\S]+?)(?=\n\n|$)/gm,
  );
  const documentedRules = [...documented].map(([, alert, expr, text]) => ({
    alert,
    expr,
    text: text!.replaceAll('\n', ' '),
  }));
  expect(documentedRules).toEqual(
    rules.map(({ alert, expr, for: duration, labels, annotations }) => ({
      alert,
      expr: expr.trim(),
      text: expect.stringContaining(`\`for: ${duration}\`, \`${labels.severity}\`. ${annotations.summary} `),
    })),
  );
});
