import { quantile } from './counters.mjs';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const [WIDTH, HEIGHT] = [1200, 660];
const [LEFT, RIGHT] = [76, 1172];
/** Where the two diagrams stand: latencies above, arrivals below. */
const ABOVE = { top: 104, bottom: 400 };
const BELOW = { top: 446, bottom: 596 };
const QUANTILES = [
  ['p99', 0.99],
  ['p90', 0.9],
  ['p50', 0.5],
];
/** What is shaded, and in which colour. */
const SHADES = {
  'service killed': 'outage',
  'database killed': 'outage',
  reconnection: 'reconnection',
  update: 'update',
};
/** Tenfold steps of the logarithmic scale, in milliseconds. */
const [LEAST, MOST] = [1, 10_000];
const TICKS = [1, 10, 100, 1_000, 10_000];

const STYLE = `
  svg { --background: #ffffff; --ink: #1f2933; --soft: #66727f; --grid: #e3e8ee; --p50: #2a78c8; --p90: #7a5fd0; --p99: #d6457e;
    --outage: #d64545; --reconnection: #e39a1f; --update: #3f9b63; --wave: #66727f; --asked: #8ba6c1; --later: #e39a1f; --broken: #d64545; }
  @media (prefers-color-scheme: dark) { svg { --background: #12171d; --ink: #e6ebf0; --soft: #93a1b0; --grid: #2a333d;
    --p50: #6cb0f5; --p90: #b09df5; --p99: #f583ad; --outage: #f07070; --reconnection: #f0b750; --update: #6cc98f; --wave: #93a1b0;
    --asked: #4d6780; --later: #f0b750; --broken: #f07070; } }
  text { font: 13px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: var(--soft) }
  .title { font-size: 20px; font-weight: 600; fill: var(--ink) } .head { font-weight: 600; fill: var(--ink) }
  .line { fill: none; stroke-width: 1.6; stroke-linejoin: round }`.trim();

/** The run as a picture: latencies over simulated time, what happened meanwhile, and how many came. */
export function picture({ counters, phases, span }, { clients, days, minutes }) {
  const x = (now) => LEFT + ((RIGHT - LEFT) * Math.min(now, span)) / span;
  const title = `${clients.toLocaleString('en-GB')} clients over ${days} simulated ${days === 1 ? 'day' : 'days'}`;
  const about = `Latency of every answer and arrivals, over simulated time. ${Math.round(span / minutes / 60_000).toLocaleString('en-GB')} times as fast as real time.`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="title about">
<title id="title">${title}</title>
<desc id="about">${about}</desc>
<style>${STYLE}</style>
<rect width="${WIDTH}" height="${HEIGHT}" rx="8" style="fill: var(--background)"/>
<text x="28" y="38" class="title">${title}</text>
<text x="28" y="60">${about}</text>
${phases.map((phase) => shade(phase, x)).join('\n')}
${latencyScale()}
${timeScale(days, x)}
${QUANTILES.map(([name, share], place) => latencies(counters, share, { name, place, x })).join('\n')}
${arrivals(counters, x)}
</svg>
`;
}

function shade({ name, from, to }, x) {
  const colour = SHADES[name] ?? 'wave';
  const width = Math.max(x(to) - x(from), 3);
  // An outage is named to its left: to its right the reconnections are.
  const [at, anchor] = colour === 'outage' ? [x(to) - 3, 'end'] : [x(from) + 3, 'start'];
  const y = ABOVE.top + (colour === 'update' ? 18 : -10);
  const label = text(at, y, name, `text-anchor: ${anchor}; fill: var(--${colour})`);
  const faint = colour === 'update' ? 0.09 : 0.2;
  return `<rect x="${x(from).toFixed(1)}" y="${ABOVE.top}" width="${width.toFixed(1)}" height="${BELOW.bottom - ABOVE.top}" style="fill: var(--${colour}); opacity: ${faint}"/>${label}`;
}

const height = (ms) => {
  const share = Math.log(Math.min(Math.max(ms, LEAST), MOST) / LEAST) / Math.log(MOST / LEAST);
  return ABOVE.bottom - share * (ABOVE.bottom - ABOVE.top);
};

function latencyScale() {
  return TICKS.map((ms) => {
    const y = height(ms);
    const label = ms >= 1000 ? `${ms / 1000} s` : `${ms} ms`;
    return rule(LEFT, y, RIGHT, y) + text(LEFT - 10, y + 4, label, 'text-anchor: end');
  }).join('\n');
}

function timeScale(days, x) {
  const step = Math.max(1, Math.ceil(days / 3)) * 6 * HOUR;
  const lines = [];
  for (let now = 0; now <= days * DAY; now += step) {
    const isMidnight = now % DAY === 0;
    const hour = `${String((now / HOUR) % 24).padStart(2, '0')}:00`;
    if (isMidnight) lines.push(rule(x(now), ABOVE.top, x(now), BELOW.bottom));
    const label = isMidnight && now < days * DAY ? `day ${now / DAY + 1}` : hour;
    const weight = isMidnight ? '; font-weight: 600; fill: var(--ink)' : '';
    lines.push(text(x(now), BELOW.bottom + 20, label, `text-anchor: middle${weight}`));
  }
  lines.push(text(RIGHT, BELOW.bottom + 44, 'simulated time (UTC)', 'text-anchor: end'));
  return lines.join('\n');
}

function latencies(counters, share, { name, place, x }) {
  let path = '';
  for (const [number, { times }] of counters.slices.entries()) {
    const ms = quantile(times, share);
    if (ms === null) continue;
    const isNew = !path || quantile(counters.slices[number - 1].times, share) === null;
    path += `${isNew ? 'M' : 'L'}${x((number + 0.5) * counters.sliceMs).toFixed(1)} ${height(ms).toFixed(1)}`;
  }
  const left = RIGHT - 180 + place * 64;
  return `<path class="line" style="stroke: var(--${name})" d="${path}"/>
<path class="line" style="stroke: var(--${name}); stroke-width: 3" d="M${left} 55h16"/>${text(left + 22, 60, name)}`;
}

/** Bars of what came in each minute; upon them, in their colours, the requests that were refused with 503 and those without an answer. */
function arrivals(counters, x) {
  const minutes = counters.sliceMs / 60_000;
  const most = Math.max(...counters.slices.map(({ asked }) => asked), 1);
  const scale = (BELOW.bottom - BELOW.top) / most;
  const width = (RIGHT - LEFT) / counters.slices.length;
  const bars = { asked: '', later: '', broken: '' };
  for (const [number, slice] of counters.slices.entries()) {
    const left = x(number * counters.sliceMs).toFixed(1);
    const bar = (from, count) =>
      count > 0
        ? `M${left} ${(BELOW.bottom - from * scale).toFixed(1)}v${(-count * scale).toFixed(1)}h${(width * 0.9).toFixed(1)}v${(count * scale).toFixed(1)}z`
        : '';
    const broken = Math.min(slice.broken, slice.asked);
    const later = Math.min(slice.later, slice.asked - broken);
    bars.broken += bar(0, broken);
    bars.later += bar(broken, later);
    bars.asked += bar(broken + later, slice.asked - broken - later);
  }
  const legend = [
    ['asked', 'answered'],
    ['later', 'refused with 503'],
    ['broken', 'no answer'],
  ];
  let left = RIGHT - 385;
  const names = legend.map(([colour, name]) => {
    const at = left;
    left += name.length * 6.5 + 36;
    return `<rect x="${at}" y="${BELOW.top - 24}" width="12" height="12" rx="2" style="fill: var(--${colour})"/>${text(at + 18, BELOW.top - 13, name)}`;
  });
  return `${text(LEFT, BELOW.top - 13, 'Arrivals a simulated minute', '', 'head')}
${text(LEFT - 10, BELOW.top + 5, Math.round(most / minutes).toLocaleString('en-GB'), 'text-anchor: end')}
${text(LEFT - 10, BELOW.bottom + 4, '0', 'text-anchor: end')}${rule(LEFT, BELOW.bottom, RIGHT, BELOW.bottom)}
${Object.entries(bars)
  .map(([colour, path]) => `<path style="fill: var(--${colour})" d="${path}"/>`)
  .join('\n')}
${names.join('\n')}`;
}

const rule = (x1, y1, x2, y2) =>
  `<path style="stroke: var(--grid)" d="M${x1.toFixed(1)} ${y1.toFixed(1)}L${x2.toFixed(1)} ${y2.toFixed(1)}"/>`;

const text = (x, y, words, style = '', kind = '') =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}"${kind && ` class="${kind}"`}${style && ` style="${style}"`}>${words}</text>`;
