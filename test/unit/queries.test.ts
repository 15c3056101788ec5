import { expect, test } from '@jest/globals';
import { readQueries } from '../../web/support/find/queries.js';

const ID = '0198f000-0000-7000-8000-00000000dead';

test.each([
  ID,
  ID.replaceAll('-', ''),
  ID.replaceAll('-', '–'),
  `“${ID}”`,
  `${ID}.`,
  `id: ${ID}`,
  `"Activation id": "${ID}",`,
  `urn:uuid:${ID}`,
])(
  'a search for %s is a search for the id in it, and then for the text as a transaction id and a previous key',
  (text) => {
    expect(readQueries(text)).toEqual([
      { kind: 'activation_id', text: ID },
      { kind: 'license_id', text: ID },
      { kind: 'transaction_id', text },
      { kind: 'license_key', text },
    ]);
  },
);

test.each([
  'zoe@example.com',
  '<zoe@example.com>',
  'Zoe: <zoe@example.com>,',
  'mailto:zoe@example.com',
  'mailto:zoe@example.com?subject=Key',
  'E-mail: zoe@example.com',
  '“zoe@example.com”.',
  "'zoe@example.com'",
  'zoe@example.com.',
  '(zoe@example.com)',
])('a search for %s is a search for the address in it', (text) => {
  expect(readQueries(text)).toEqual([{ kind: 'email', text: 'zoe@example.com' }]);
});

test.each(["_o'neil+a@example.com", 'who?@example.com', 'two@signs@example.com', 'zoe smith@example.com'])(
  'no part of the address %s is removed',
  (text) => {
    expect(readQueries(text)).toEqual([{ kind: 'email', text }]);
  },
);

test.each(['txn_4', 'id: 4', '“txn_4”.', '12345678901'])(
  '%s is a transaction id and stays as it is',
  (text) => {
    expect(readQueries(text)).toEqual([{ kind: 'transaction_id', text }]);
  },
);

test.each(['0'.repeat(32), `${ID.replaceAll('-', '')}00`, `txn_${ID}`, 'F00D-CAFE-1'])(
  '%s is a transaction id, and then may be the key of another system',
  (text) => {
    expect(readQueries(text)).toEqual([
      { kind: 'transaction_id', text },
      { kind: 'license_key', text },
    ]);
  },
);

test('a text that is too long for a transaction id is searched only as a key, of this system or of another one', () => {
  for (const text of [`Your key: MOOR_E6S7-Z8KJ-TB3R-QKX6\n${'Thank you. '.repeat(20)}`, 'k'.repeat(300)])
    expect(readQueries(text)).toEqual([{ kind: 'license_key', text }]);
});
