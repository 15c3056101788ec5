// Small exports of other licensing systems, in the formats that those systems document (docs/operations/license-import.md).

/** A page of Lemon Squeezy's `GET /v1/license-keys?include=order`. */
export const LEMON_SQUEEZY = JSON.stringify(
  {
    jsonapi: { version: '1.0' },
    data: [
      lemonKey('1', {
        key: '80e15db5-c796-436b-850c-8f9c98a48abe',
        user_email: 'ada@lemon.example',
        activation_limit: 5,
      }),
      lemonKey('2', {
        key: '11111111-c796-436b-850c-8f9c98a40002',
        user_email: 'bob@lemon.example',
        order_id: 2,
      }),
      lemonKey('3', {
        key: '22222222-c796-436b-850c-8f9c98a40003',
        user_email: 'bob@lemon.example',
        order_id: 2,
      }),
      lemonKey('4', {
        key: '33333333-c796-436b-850c-8f9c98a40004',
        user_email: 'eve@lemon.example',
        order_id: 4,
        status: 'disabled',
        disabled: 1,
      }),
    ],
    included: [
      {
        type: 'orders',
        id: '2',
        attributes: { status: 'refunded', refunded: true, user_email: 'bob@lemon.example' },
      },
      { type: 'orders', id: '4', attributes: { status: 'paid', refunded: false } },
    ],
  },
  undefined,
  2,
);

function lemonKey(id: string, attributes: Record<string, unknown>) {
  return {
    type: 'license-keys',
    id,
    attributes: {
      order_id: 1,
      user_name: 'Ada',
      activation_limit: null,
      instances_count: 0,
      disabled: 0,
      status: 'active',
      expires_at: null,
      created_at: '2021-05-24T14:15:07.000000Z',
      ...attributes,
    },
    relationships: {
      order: { data: { type: 'orders', id: String(attributes['order_id'] ?? 1) } },
      product: { links: { related: 'https://api.lemonsqueezy.com/v1/license-keys/1/product' } },
    },
  };
}

/** Gumroad's sales export, with a part of its columns. It writes an apostrophe before a cell that looks like a formula. */
export const GUMROAD = [
  'Purchase ID,Item Name,Purchase Email,Purchase Date,Purchase Time (UTC timezone),Fully Refunded?,Disputed?,Dispute Won?,Access Revoked?,Recurring Charge?,Giftee Email,Quantity,Review,License Key,License Key Enabled?',
  'a==,"My ""App"", for Mac",ada@gumroad.example,2024-01-05,2024-01-05 10:11:12 UTC,0,0,0,0,0,,2,"Good,\nthanks",85DB562A-C11D4B06-A2335A6B-8C079166,1',
  'b==,My App,bob@gumroad.example,2024-01-05,2024-01-05 10:11:12 UTC,1,0,0,0,0,,1,,85DB562B-C11D4B06-A2335A6B-8C079167,1',
  "c==,My App,'+eve@gumroad.example,2024-01-05,,0,0,0,0,0,,1,,85DB562C-C11D4B06-A2335A6B-8C079168,0",
  'd==,My App,ada@gumroad.example,2024-02-05,,0,0,0,0,1,,1,,85DB562A-C11D4B06-A2335A6B-8C079166,1',
  'e==,A Poster,zoe@gumroad.example,2024-02-05,,0,0,0,0,0,,1,,,',
  'Totals,,,,,,,,,,,,,,',
].join('\n');

/** Paddle Classic's report of sent licenses, with the separator of a German spreadsheet and a byte order mark. */
export const PADDLE = [
  '\uFEFFOrder ID;Product ID;Product Name;Customer Email;License Code;Date Sent;Paddle Issued License;Paddle License ID',
  '1001-2001;5;My App;ada@paddle.example;ABCDEF01-23456789-ABCDEF01;2023-05-01 10:00:00;1;7',
  '1002-2002;5;My App;bob@paddle.example;ABCDEF02-23456789-ABCDEF02;03/04/2023;1;8',
  '1003-2003;6;Another App;eve@paddle.example;ABCDEF03-23456789-ABCDEF03;2023-05-01;1;9',
].join('\r\n');

/** A page of Keygen's users and a page of its licenses, one after the other. */
export const KEYGEN = [
  { data: [{ id: 'u1', type: 'users', attributes: { email: 'ada@keygen.example', status: 'ACTIVE' } }] },
  {
    data: [
      keygenLicense('l1', { key: 'C1B6DE-39A6E3-DE1529-8559A0-4AF593-V3', maxMachines: 2 }, 'u1'),
      keygenLicense('l2', {
        key: 'C1B6DE-39A6E3-DE1529-8559A0-4AF594-V3',
        metadata: { email: 'bob@keygen.example' },
        suspended: true,
        status: 'SUSPENDED',
      }),
      keygenLicense('l3', { key: 'C1B6DE-39A6E3-DE1529-8559A0-4AF595-V3' }),
    ],
  },
]
  .map((page) => JSON.stringify(page))
  .join('\n');

function keygenLicense(id: string, attributes: object, owner?: string) {
  return {
    id,
    type: 'licenses',
    attributes: {
      expiry: '2027-09-09T21:16:13.013Z',
      status: 'ACTIVE',
      suspended: false,
      maxMachines: null,
      metadata: {},
      created: '2024-09-09T21:16:13.013Z',
      ...attributes,
    },
    relationships: { owner: { data: owner === undefined ? null : { type: 'users', id: owner } } },
  };
}
