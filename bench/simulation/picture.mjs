import { quantile } from './counters.mjs';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const [WIDTH, HEIGHT] = [1200, 660];
const [LEFT, RIGHT] = [76, 1172];
/** Vertical positions of the two diagrams: latencies above, requests below. */
const LATENCIES = { top: 104, bottom: 400 };
const REQUESTS = { top: 446, bottom: 596 };
const QUANTILES = [
  ['p99', 0.99],
  ['p90', 0.9],
  ['p50', 0.5],
];
/** The CSS colour of each phase; that of all others (`refunds`, `releases`) is `other`. */
const SHADES = {
  'service killed': 'outage',
  'database killed': 'outage',
  reconnection: 'reconnection',
  update: 'update',
};
/** The range of the logarithmic scale, in milliseconds. */
const [MIN_MS, MAX_MS] = [1, 10_000];
const TICKS = [1, 10, 100, 1_000, 10_000];

const STYLE = `
  svg { --background: #ffffff; --ink: #1f2933; --soft: #66727f; --grid: #e3e8ee; --p50: #2a78c8; --p90: #7a5fd0; --p99: #d6457e;
    --outage: #d64545; --reconnection: #e39a1f; --update: #3f9b63; --other: #66727f; --answered: #8ba6c1;
    --refused: #e39a1f; --unanswered: #d64545; }
  @media (prefers-color-scheme: dark) { svg { --background: #12171d; --ink: #e6ebf0; --soft: #93a1b0; --grid: #2a333d;
    --p50: #6cb0f5; --p90: #b09df5; --p99: #f583ad; --outage: #f07070; --reconnection: #f0b750; --update: #6cc98f; --other: #93a1b0;
    --answered: #4d6780; --refused: #f0b750; --unanswered: #f07070; } }
  text { font: 13px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: var(--soft) }
  .title { font-size: 20px; font-weight: 600; fill: var(--ink) } .head { font-weight: 600; fill: var(--ink) }
  .line { fill: none; stroke-width: 1.6; stroke-linejoin: round }`.trim();

/** Draws latencies, phases and the number of requests over simulated time, as SVG. */
export function drawPicture({ counters, phases, span }, { clients, days, minutes }) {
  const x = (now) => LEFT + ((RIGHT - LEFT) * Math.min(now, span)) / span;
  const title = `${clients.toLocaleString('en-GB')} clients over ${days} simulated ${days === 1 ? 'day' : 'days'}`;
  const about = `Latency of every response and number of requests, over simulated time. ${Math.round(span / minutes / 60_000).toLocaleString('en-GB')} times as fast as real time.`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="title about">
<title id="title">${title}</title>
<desc id="about">${about}</desc>
<style>${STYLE}</style>
<rect width="${WIDTH}" height="${HEIGHT}" rx="8" style="fill: var(--background)"/>
<text x="28" y="38" class="title">${title}</text>
<text x="28" y="60">${about}</text>
${phases.map((phase) => drawPhase(phase, x)).join('\n')}
${latencyScale()}
${timeScale(days, x)}
${QUANTILES.map(([name, share], index) => latencies(counters, share, { name, index, x })).join('\n')}
${requestBars(counters, x)}
</svg>
`;
}

function drawPhase({ name, from, to }, x) {
  const colour = SHADES[name] ?? 'other';
  const width = Math.max(x(to) - x(from), 3);
  // The name of an outage ends at its right border, because the name of the reconnection begins there.
  const [at, anchor] = colour === 'outage' ? [x(to) - 3, 'end'] : [x(from) + 3, 'start'];
  const y = LATENCIES.top + (colour === 'update' ? 18 : -10);
  const label = text(at, y, name, `text-anchor: ${anchor}; fill: var(--${colour})`);
  const faint = colour === 'update' ? 0.09 : 0.2;
  return `<rect x="${x(from).toFixed(1)}" y="${LATENCIES.top}" width="${width.toFixed(1)}" height="${REQUESTS.bottom - LATENCIES.top}" style="fill: var(--${colour}); opacity: ${faint}"/>${label}`;
}

const height = (ms) => {
  const share = Math.log(Math.min(Math.max(ms, MIN_MS), MAX_MS) / MIN_MS) / Math.log(MAX_MS / MIN_MS);
  return LATENCIES.bottom - share * (LATENCIES.bottom - LATENCIES.top);
};

function latencyScale() {
  return TICKS.map((ms) => {
    const y = height(ms);
    const label = ms >= 1000 ? `${ms / 1000} s` : `${ms} ms`;
    return drawLine(LEFT, y, RIGHT, y) + text(LEFT - 10, y + 4, label, 'text-anchor: end');
  }).join('\n');
}

function timeScale(days, x) {
  const step = Math.max(1, Math.ceil(days / 3)) * 6 * HOUR_MS;
  const lines = [];
  for (let now = 0; now <= days * DAY_MS; now += step) {
    const isMidnight = now % DAY_MS === 0;
    const hour = `${String((now / HOUR_MS) % 24).padStart(2, '0')}:00`;
    if (isMidnight) lines.push(drawLine(x(now), LATENCIES.top, x(now), REQUESTS.bottom));
    const label = isMidnight && now < days * DAY_MS ? `day ${now / DAY_MS + 1}` : hour;
    const weight = isMidnight ? '; font-weight: 600; fill: var(--ink)' : '';
    lines.push(text(x(now), REQUESTS.bottom + 20, label, `text-anchor: middle${weight}`));
  }
  lines.push(text(RIGHT, REQUESTS.bottom + 44, 'simulated time (UTC)', 'text-anchor: end'));
  return lines.join('\n');
}

function latencies(counters, share, { name, index, x }) {
  let path = '';
  for (const [number, { latencies: ofSlice }] of counters.slices.entries()) {
    const ms = quantile(ofSlice, share);
    if (ms === null) continue;
    const isNew = !path || quantile(counters.slices[number - 1].latencies, share) === null;
    path += `${isNew ? 'M' : 'L'}${x((number + 0.5) * counters.sliceMs).toFixed(1)} ${height(ms).toFixed(1)}`;
  }
  const left = RIGHT - 180 + index * 64;
  return `<path class="line" style="stroke: var(--${name})" d="${path}"/>
<path class="line" style="stroke: var(--${name}); stroke-width: 3" d="M${left} 55h16"/>${text(left + 22, 60, name)}`;
}

/** Stacked bars of the requests in each slice of time: without a response, refused with 503, and answered otherwise. */
function requestBars(counters, x) {
  const minutes = counters.sliceMs / 60_000;
  const most = Math.max(...counters.slices.map(({ sent }) => sent), 1);
  const scale = (REQUESTS.bottom - REQUESTS.top) / most;
  const width = (RIGHT - LEFT) / counters.slices.length;
  const bars = { answered: '', refused: '', unanswered: '' };
  for (const [number, slice] of counters.slices.entries()) {
    const left = x(number * counters.sliceMs).toFixed(1);
    const bar = (from, count) =>
      count > 0
        ? `M${left} ${(REQUESTS.bottom - from * scale).toFixed(1)}v${(-count * scale).toFixed(1)}h${(width * 0.9).toFixed(1)}v${(count * scale).toFixed(1)}z`
        : '';
    const unanswered = Math.min(slice.unanswered, slice.sent);
    const refused = Math.min(slice.unavailable, slice.sent - unanswered);
    bars.unanswered += bar(0, unanswered);
    bars.refused += bar(unanswered, refused);
    bars.answered += bar(unanswered + refused, slice.sent - unanswered - refused);
  }
  const legend = [
    ['answered', 'answered'],
    ['refused', 'refused with 503'],
    ['unanswered', 'no answer'],
  ];
  let left = RIGHT - 385;
  const names = legend.map(([colour, name]) => {
    const at = left;
    left += name.length * 6.5 + 36;
    return `<rect x="${at}" y="${REQUESTS.top - 24}" width="12" height="12" rx="2" style="fill: var(--${colour})"/>${text(at + 18, REQUESTS.top - 13, name)}`;
  });
  return `${text(LEFT, REQUESTS.top - 13, 'Requests a simulated minute', '', 'head')}
${text(LEFT - 10, REQUESTS.top + 5, Math.round(most / minutes).toLocaleString('en-GB'), 'text-anchor: end')}
${text(LEFT - 10, REQUESTS.bottom + 4, '0', 'text-anchor: end')}${drawLine(LEFT, REQUESTS.bottom, RIGHT, REQUESTS.bottom)}
${Object.entries(bars)
  .map(([colour, path]) => `<path style="fill: var(--${colour})" d="${path}"/>`)
  .join('\n')}
${names.join('\n')}`;
}

const drawLine = (x1, y1, x2, y2) =>
  `<path style="stroke: var(--grid)" d="M${x1.toFixed(1)} ${y1.toFixed(1)}L${x2.toFixed(1)} ${y2.toFixed(1)}"/>`;

const text = (x, y, words, style = '', kind = '') =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}"${kind && ` class="${kind}"`}${style && ` style="${style}"`}>${words}</text>`;
