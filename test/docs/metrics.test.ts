import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { RetentionService } from '../../src/retention/retention.service.js';
import { openapi } from '../support/http/openapi.js';
import { createDatabase, Service } from '../support/harness.js';
import { labelsOf, scrapeText } from '../support/http/scrape.js';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string };
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
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
const dashboard = JSON.parse(readFileSync('deploy/grafana-dashboard.json', 'utf8')) as { panels: Panel[] };
const rules = groups.flatMap(({ rules }) => rules);
/** Labels that are not in METRICS_PAGE: Prometheus adds `instance`, and each bucket of a histogram has `le`. */
const UNLISTED_LABELS = ['instance', 'le'];

const database = await createDatabase();
const { url: databaseUrl } = database;
// The service has a replica and data, so that every metric has a line.
const environment = { METRICS_PORT: '0', DATABASE_READ_URL: databaseUrl };
const service = await Service.start({ databaseUrl, environment });
const { json } = await service.activate(await service.issue());
await service.heartbeat(json.token, { telemetry: { uptime_hours: 1 } });
await service.call('GET', '/health/ready');
await service.call('POST', '/portal/api/session/code', { email: 'ada@example.com' });
// The retention run creates the partition that the inserted row needs.
await service.app.get(RetentionService).run();
await service.sql(`insert into telemetry (id, received_on) values (gen_random_uuid(), '2026-11-01')`);
await service.sql(`update activation set ended_at = now(), ended_reason = 'released'`);
const served = metricsIn(await scrapeText(service));

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

/** Expects that each route of an expression such as `/v1/(activate|heartbeat)` exists. */
function expectRoutes(pattern: string): void {
  const [, before, names] = /^([^(]*)\(([^)]*)\)$/.exec(pattern)!;
  for (const name of names!.split('|')) expect(Object.keys(openapi.paths)).toContain(`${before}${name}`);
}

/** Expects that each metric and label of an expression exists. @returns the metrics */
function expectExisting(expr: string): Metric[] {
  const names = expr.match(/\bmooring_\w+/g) ?? [];
  expect(names.length).toBeGreaterThan(0);
  for (const name of names) expect([name, metricOf(name)]).toEqual([name, expect.anything()]);
  for (const [, name, selectors] of expr.matchAll(/(mooring_\w+)\{([^}]*)\}/g)) {
    for (const [, label, operator, value] of selectors!.matchAll(/(\w+)(=~?|!=|!~)"([^"]*)"/g)) {
      const values = metricOf(name!)!.labels.get(label!);
      expect([label, values]).toEqual([label, expect.any(Set)]);
      if (operator === '=') expect([...values!]).toContain(value);
      // Each value that a rule leaves out exists, because a wrong name would leave out nothing.
      for (const excluded of operator === '!~' ? value!.split('|') : [])
        expect([...values!].filter((each) => new RegExp(`^(?:${excluded})$`).test(each))).not.toEqual([]);
      if (label === 'route' && operator === '=~') expectRoutes(value!);
    }
  }
  for (const [, by] of expr.matchAll(/\bby \(([^)]*)\)/g)) {
    const known = [...UNLISTED_LABELS, ...names.flatMap((name) => [...metricOf(name)!.labels.keys()])];
    expect(known).toEqual(expect.arrayContaining(by!.split(', ')));
  }
  return names.map((name) => metricOf(name)!);
}

test.each(rules)('$alert uses existing metrics and labels', ({ expr }) => {
  expectExisting(expr);
});

describe('deploy/grafana-dashboard.json', () => {
  const charts = dashboard.panels.filter(({ type }) => type !== 'row');

  test.each(charts)('$title uses existing metrics and labels', ({ targets, description }) => {
    expect(description).toMatch(/^.+\.$/);
    for (const { expr, legendFormat } of targets!) {
      expectExisting(expr);
      // Each label of the legend is one by which the expression groups.
      const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, by]) => by!.split(', '));
      const labels = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!);
      expect(grouped).toEqual(expect.arrayContaining(labels));
    }
  });

  test('shows every served metric', () => {
    const shown = new Set(
      charts.flatMap(({ targets }) => targets!.flatMap(({ expr }) => expectExisting(expr))),
    );
    expect([...served].filter(([, metric]) => !shown.has(metric)).map(([name]) => name)).toEqual([]);
  });

  test('has no two panels with the same id or at the same place', () => {
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });
});

test('deploy/prometheus.yml scrapes the metrics ports of two instances of the unit, and reads the alert rules', () => {
  const { rule_files, scrape_configs } = parse(readFileSync('deploy/prometheus.yml', 'utf8')) as {
    rule_files: string[];
    scrape_configs: { static_configs: { targets: string[] }[] }[];
  };
  expect(rule_files.map((file) => existsSync(file.replace('/opt/mooring/', '')))).toEqual([true]);
  const port = /METRICS_PORT=(\S+)/.exec(readFileSync('deploy/mooring@.service', 'utf8'))![1]!;
  const targets = scrape_configs.flatMap((config) => config.static_configs.flatMap((each) => each.targets));
  expect(targets).toEqual(['3000', '3001'].map((name) => `127.0.0.1:${port.replace('%i', name)}`));
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
