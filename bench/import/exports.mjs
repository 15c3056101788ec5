// Makes exports in the formats that the systems document (docs/operations/license-import.md), from a seed.
// The file is long, because it has the columns of each system.
import { Random } from '../../test/client/random.ts';

/** The moment to which the ages of the licenses refer; every purchase is before it, and every coming expiry long after it. */
const NOW = Date.UTC(2026, 9, 1);
const DAY_MS = 86_400_000;

/**
 * The kinds of licenses, the percentage of each, and the status that it gets. An expired license is active and has a past expiry.
 * @type {readonly (readonly [kind: string, percent: number, becomes: string])[]}
 */
const KINDS = [
  ['refunded', 4, 'refunded'],
  ['disabled', 2, 'suspended'],
  ['expired', 10, 'active'],
  ['active', 84, 'active'],
];

/**
 * Makes an export.
 * @param {'lemonsqueezy' | 'gumroad' | 'paddle' | 'keygen'} system
 * @param {{ rows: number, seed: number }} size `rows` is the number of licenses. Gumroad's export has
 *   further rows, which are no licenses
 * @typedef {{ key: string, email: string, transaction: string | null, becomes: string }} ExportedLicense
 * @returns {{ text: string, extension: string, licenses: ExportedLicense[] }}
 *   the file, and its licenses with the status that each becomes
 */
export function makeExport(system, { rows, seed }) {
  const random = new Random(seed);
  const sales = Array.from({ length: rows }, (_, i) => sale(system, i, random));
  // Every seventh license has the order of the license before it (`sale`), and the keys of an order are refunded together.
  for (let i = 6; i < rows; i += 7) {
    const { kind, expiresAt } = sales[i - 1];
    Object.assign(sales[i], { kind, expiresAt });
  }
  const { text, extension } = FORMATS[system](sales, random);
  return {
    text,
    extension,
    licenses: sales.map(({ key, email, transaction, kind }) => ({
      key,
      email,
      transaction: system === 'keygen' ? null : String(transaction),
      becomes: becomesOf(system, kind),
    })),
  };
}

/** The status that a license gets. Paddle's export has no kinds, and Keygen's does not say that a license was refunded. */
function becomesOf(system, kind) {
  if (system === 'paddle') return 'active';
  if (system === 'keygen' && kind === 'refunded') return 'suspended';
  return KINDS.find(([name]) => name === kind)[2];
}

function sale(system, i, random) {
  const kind = kindOf(random.below(100));
  const purchasedAt = NOW - random.below(1500 * 24) * 3_600_000;
  const expiresAt =
    kind === 'expired'
      ? NOW - random.below(200) * DAY_MS
      : random.below(3) === 0
        ? NOW + (60 + random.below(400)) * DAY_MS
        : null;
  // Every seventh row has a second key of the order of the row before.
  const order = i % 7 === 6 ? i - 1 : i;
  return {
    kind,
    key: KEYS[system](random),
    email: `buyer${order}.${system}@example.com`,
    transaction: TRANSACTIONS[system](order),
    purchasedAt: new Date(purchasedAt),
    expiresAt: expiresAt === null ? null : new Date(expiresAt),
    limit: random.below(4) === 0 ? null : 1 + random.below(5),
    quantity: 1 + (random.below(10) === 0 ? random.below(4) : 0),
  };
}

function kindOf(percent) {
  let below = 0;
  return KINDS.find(([, share]) => percent < (below += share))[0];
}

const symbols = (random, alphabet, n) =>
  Array.from({ length: n }, () => alphabet[random.below(alphabet.length)]).join('');
const HEX = '0123456789abcdef';
const UPPER_HEX = '0123456789ABCDEF';
const groups = (random, alphabet, count, length) =>
  Array.from({ length: count }, () => symbols(random, alphabet, length)).join('-');

/** Makes a key as each system does. Lemon Squeezy's are UUIDs of version 4: `$14` is the first capture, and then a 4. */
const KEYS = {
  lemonsqueezy: (random) =>
    [8, 4, 4, 4, 12]
      .map((length) => symbols(random, HEX, length))
      .join('-')
      .replace(/^(.{14})./, '$14'),
  gumroad: (random) => groups(random, UPPER_HEX, 4, 8),
  paddle: (random) => groups(random, UPPER_HEX, 5, 8),
  keygen: (random) => `${groups(random, UPPER_HEX, 5, 6)}-V3`,
};

const TRANSACTIONS = {
  lemonsqueezy: (i) => 1_000_000 + i,
  gumroad: (i) => `${Buffer.from(`sale ${i}`).toString('base64url')}==`,
  paddle: (i) => `${20_000_000 + i}-${30_000_000 + i}`,
  keygen: () => '',
};

const csv = (lines) =>
  `${lines.map((cells) => cells.map((cell) => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')).join('\n')}\n`;

const FORMATS = {
  lemonsqueezy: (sales) => ({ text: pages(sales, 100, lemonSqueezyPage), extension: 'json' }),
  keygen: (sales) => ({
    text: pages(sales, 100, keygenUsers) + pages(sales, 100, keygenLicenses),
    extension: 'json',
  }),
  gumroad: (sales, random) => ({ text: csv(gumroadLines(sales, random)), extension: 'csv' }),
  paddle: (sales) => ({ text: `\uFEFF${csv(paddleLines(sales))}`, extension: 'csv' }),
};

/** Writes the pages of an API one after the other. Every second one is indented, so that the import must read both forms. */
const pages = (sales, size, page) =>
  Array.from({ length: Math.ceil(sales.length / size) }, (_, i) =>
    JSON.stringify(
      page(sales.slice(i * size, (i + 1) * size), i * size),
      undefined,
      i % 2 === 0 ? 2 : undefined,
    ),
  ).join('\n');

/** As Lemon Squeezy writes times: with microseconds. */
const microseconds = (date) => date && date.toISOString().replace('Z', '000Z');

const lemonSqueezyPage = (sales, offset) => ({
  meta: { page: { currentPage: offset / 100 + 1, perPage: 100 } },
  jsonapi: { version: '1.0' },
  data: sales.map((sale, i) => ({
    type: 'license-keys',
    id: String(offset + i + 1),
    attributes: {
      store_id: 1,
      customer_id: offset + i,
      order_id: sale.transaction,
      order_item_id: offset + i,
      product_id: 1,
      user_name: 'Ada Lovelace',
      user_email: sale.email,
      key: sale.key,
      key_short: `XXXX-${sale.key.slice(-12)}`,
      activation_limit: sale.limit,
      instances_count: 0,
      disabled: sale.kind === 'disabled' ? 1 : 0,
      status: { active: 'active', refunded: 'inactive' }[sale.kind] ?? sale.kind,
      status_formatted: 'Active',
      expires_at: microseconds(sale.expiresAt),
      created_at: microseconds(sale.purchasedAt),
      updated_at: microseconds(sale.purchasedAt),
    },
    relationships: {
      store: { links: { related: 'https://api.lemonsqueezy.com/v1/license-keys/1/store' } },
      order: { data: { type: 'orders', id: String(sale.transaction) } },
    },
  })),
  included: sales
    .filter(({ kind }) => kind === 'refunded')
    .map((sale) => ({
      type: 'orders',
      id: String(sale.transaction),
      attributes: {
        identifier: '104e18a2-d755-4d4b-80c4-a6c1dcbe1c10',
        user_email: sale.email,
        status: 'refunded',
        refunded: true,
        total: 1999,
      },
    })),
});

const keygenUsers = (sales, offset) => ({
  data: sales.map(({ email }, i) => ({
    id: `user-${offset + i}`,
    type: 'users',
    attributes: { fullName: null, email, status: 'ACTIVE', role: 'user', metadata: {} },
  })),
});

const keygenLicenses = (sales, offset) => ({
  data: sales.map((sale, i) => ({
    id: `license-${offset + i}`,
    type: 'licenses',
    attributes: {
      name: null,
      key: sale.key,
      expiry: sale.expiresAt && sale.expiresAt.toISOString(),
      status: { active: 'ACTIVE', expired: 'EXPIRED' }[sale.kind] ?? 'SUSPENDED',
      uses: 0,
      suspended: ['disabled', 'refunded'].includes(sale.kind),
      maxMachines: sale.limit,
      metadata: {},
      created: sale.purchasedAt.toISOString(),
      updated: sale.purchasedAt.toISOString(),
    },
    relationships: { owner: { data: { type: 'users', id: `user-${offset + i}` } } },
  })),
});

/** Columns of Gumroad's sales export, in its order: the columns that an import reads, and some others. */
const GUMROAD_COLUMNS = [
  'Purchase ID', 'Item Name', 'Buyer Name', 'Purchase Email', 'Buyer Email', 'Do not contact?', 'Purchase Date',
  'Purchase Time (UTC timezone)', 'Subtotal ($)', 'Sale Price ($)', 'Country', 'Refunded?', 'Partial Refund ($)',
  'Fully Refunded?', 'Disputed?', 'Dispute Won?', 'Access Revoked?', 'Variants', 'Recurring Charge?', 'Product ID',
  'Order Number', 'Giftee Email', 'Quantity', 'Recurrence', 'Subscription End Date', 'Review', 'License Key',
  'License Key Activation Count', 'License Key Enabled?', 'Payment Type',
]; // prettier-ignore

function gumroadLines(sales, random) {
  const line = (sale, more = {}) => {
    const day = sale.purchasedAt.toISOString().slice(0, 10);
    const flag = (kind) => (sale.kind === kind ? '1' : '0');
    const cells = {
      'Purchase ID': sale.transaction,
      'Item Name': 'My "App", for Mac',
      'Buyer Name': "'=Ada",
      'Purchase Email': sale.email,
      'Buyer Email': '',
      'Do not contact?': '0',
      'Purchase Date': day,
      'Purchase Time (UTC timezone)': `${day} ${sale.purchasedAt.toISOString().slice(11, 19)} UTC`,
      'Subtotal ($)': '19.99',
      'Sale Price ($)': '19.99',
      'Refunded?': flag('refunded'),
      'Partial Refund ($)': '0.0',
      'Fully Refunded?': flag('refunded'),
      'Disputed?': '0',
      'Dispute Won?': '0',
      'Access Revoked?': '0',
      'Recurring Charge?': '0',
      Quantity: String(sale.quantity),
      'Subscription End Date': sale.kind === 'expired' ? sale.expiresAt.toISOString().slice(0, 10) : '',
      Review: random.below(20) === 0 ? 'Works,\nthank you' : '',
      'License Key': sale.key,
      'License Key Activation Count': '1',
      'License Key Enabled?': sale.kind === 'disabled' ? '0' : '1',
      'Payment Type': 'Card',
      ...more,
    };
    return GUMROAD_COLUMNS.map((name) => cells[name] ?? '');
  };
  const lines = sales.flatMap((sale) => [
    line(sale),
    // A later payment of a subscription, and a sale of a product without license keys.
    ...(random.below(25) === 0
      ? [line(sale, { 'Purchase ID': `${sale.transaction}r`, 'Recurring Charge?': '1' })]
      : []),
    ...(random.below(25) === 0
      ? [line(sale, { 'Purchase ID': `${sale.transaction}b`, 'License Key': '' })]
      : []),
  ]);
  const totals = GUMROAD_COLUMNS.map(
    (name) => ({ 'Purchase ID': 'Totals', 'Sale Price ($)': '1234.5' })[name] ?? '',
  );
  return [GUMROAD_COLUMNS, ...lines, totals];
}

const paddleLines = (sales) => [
  [
    'Order ID',
    'Product ID',
    'Product Name',
    'Customer Email',
    'License Code',
    'Date Sent',
    'Paddle Issued License',
    'Paddle License ID',
  ],
  ...sales.map((sale, i) => [
    sale.transaction,
    '512345',
    'My App',
    sale.email,
    sale.key,
    sale.purchasedAt.toISOString().slice(0, 19).replace('T', ' '),
    '1',
    String(70_000_000 + i),
  ]),
];
