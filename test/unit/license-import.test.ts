import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  importColumns,
  ImportError,
  parseRow,
  type ImportColumn,
} from '../../src/licenses/license-import.js';

const KEY = 'ACME_E6S7-Z8KJ-TB3R-QKX6';
const ALL: ImportColumn[] = ['license_key', 'email', 'machines_allowed', 'expires_at', 'on_expiry'];
const DEFAULTS = { machines_allowed: 3, on_expiry: 'stop' } as const;

describe('a header', () => {
  test('names columns in any order and case, with space around', () => {
    expect(importColumns([' Email', 'ON_EXPIRY ', 'License_Key'])).toEqual([
      'email',
      'on_expiry',
      'license_key',
    ]);
    expect(importColumns(ALL)).toEqual(ALL);
  });

  const missingColumn =
    'The first line must name the columns license_key and email, with commas or semicolons between. ' +
    'The file of another system needs --from or --map (docs/operations/license-import.md).';
  const unknownColumn = 'is unknown; known are license_key, email, machines_allowed, expires_at, on_expiry.';
  test.each<[what: string, sentence: string, header: string[]]>([
    ['an empty header', missingColumn, []],
    ['one without the e-mail', missingColumn, ['license_key', 'machines_allowed']],
    ['one without the key', missingColumn, ['email']],
    ['one with another delimiter', missingColumn, ['license_key\temail']],
    ['another spelling', missingColumn, ['license key', 'email']],
    ['an unknown column, by name', `The column Note ${unknownColumn}`, ['license_key', 'email', ' Note ']],
    [
      'the name of a method',
      `The column constructor ${unknownColumn}`,
      ['license_key', 'email', 'constructor'],
    ],
    [
      'a name of 16 letters whose check symbol is wrong for a key',
      `The column SeatsPerCustomer ${unknownColumn}`,
      ['license_key', 'email', 'SeatsPerCustomer'],
    ],
    [
      '16 letters with the right check symbol of a key',
      `Column 3 ${unknownColumn}`,
      ['license_key', 'email', 'SEATSPERCVSTOMEW'],
    ],
    [
      'the shape of a license key with a digit',
      `Column 3 ${unknownColumn}`,
      ['license_key', 'email', 'SEATSPERCUST0MER'],
    ],
    ['an empty name', `Column 3 ${unknownColumn}`, ['license_key', 'email', '', 'on_expiry']],
    ['a name with a control character', `Column 3 ${unknownColumn}`, ['license_key', 'email', 'a\u001b[2Jb']],
    ['a name that begins with a hyphen', `Column 3 ${unknownColumn}`, ['license_key', 'email', '-x']],
    ['a name of 41 characters', `Column 3 ${unknownColumn}`, ['license_key', 'email', 'x'.repeat(41)]],
    ['a column twice', 'The column email is named twice.', ['email', 'license_key', 'EMAIL']],
  ])('is refused: %s', (_what, sentence, header) => {
    expect(() => importColumns(header)).toThrow(new ImportError(sentence));
  });

  test('that is refused: the error lists no faults of lines', () => {
    expect(() => importColumns([])).toThrow(expect.objectContaining({ faults: [] }));
  });

  test('that is in fact a data row is refused, and the message repeats neither its key nor its address', () => {
    const rows = [
      [KEY, 'ada@example.com'],
      ['license_key', KEY, 'email'],
      ['license_key', 'email', ` ${KEY.toLowerCase()}`],
      ['email', 'license_key', 'ada@example.com'],
    ];
    for (const row of rows) expect(() => importColumns(row)).toThrow(/^(?!.*(QKX6|ada)).*$/is);
  });
});

describe('a row', () => {
  test('is read under its header, with space around its cells', () => {
    const columns: ImportColumn[] = ['on_expiry', 'email', 'expires_at', 'license_key', 'machines_allowed'];
    expect(
      parseRow(
        columns,
        [' keep', ' Ada@Example.com ', '2030-01-04 ', ' acme_e6s7-z8kj-tb3r-qkx6', ' 7 '],
        DEFAULTS,
      ),
    ).toEqual({
      key: KEY,
      license: {
        email: 'ada@example.com',
        machines_allowed: 7,
        expires_at: new Date('2030-01-04'),
        on_expiry: 'keep',
      },
      faults: [],
    });
  });

  test.each<[what: string, columns: ImportColumn[], cells: string[]]>([
    ['absent', ['license_key', 'email'], [KEY, 'ada@example.com']],
    ['empty', ALL, [KEY, 'ada@example.com', '', '', '']],
    ['blank', ALL, [KEY, 'ada@example.com', ' ', '\t', '\u00a0']],
    ['never', ALL, [KEY, 'ada@example.com', '', 'never', '']],
  ])('has the defaults where a cell is %s', (_what, columns, cells) => {
    const license = { email: 'ada@example.com', ...DEFAULTS, expires_at: null };
    expect(parseRow(columns, cells, DEFAULTS)).toEqual({ key: KEY, license, faults: [] });
  });

  test.each(['1', '10', '99999', '100000'])('may allow %s machines', (cell) => {
    const cells = [KEY, 'ada@example.com', cell, '', ''];
    expect(parseRow(ALL, cells, DEFAULTS).license!.machines_allowed).toBe(Number(cell));
  });

  test('may have a key of another system, whose last symbol is not a check symbol', () => {
    const { key, faults } = parseRow(ALL, ['x1_0OIL-uuuu-AAAA-AAAA', 'a@b', '', '', ''], DEFAULTS);
    expect({ key, faults }).toEqual({ key: 'X1_0011-UUUU-AAAA-AAAA', faults: [] });
  });

  const SENTENCES = {
    license_key: 'license_key must have the shape PREFIX_XXXX-XXXX-XXXX-XXXX',
    email: 'email must be an e-mail address of at most 254 characters',
    machines_allowed: 'machines_allowed must be a whole number from 1 to 100000',
    expires_at:
      'expires_at must be a day such as 2027-01-04 or a time such as 2027-01-04T12:00:00Z, or never',
    on_expiry: 'on_expiry must be one of keep, stop',
  };
  const INVALID_CELLS: Record<ImportColumn, string[]> = {
    license_key: [
      KEY.slice(0, -1),
      `${KEY}-AAAA`,
      KEY.slice(5),
      'nonsense',
      'A_AAAA-AAAA-AAAA-AAAA',
      'ACM\u0415_AAAA-AAAA-AAAA-AAAA',
    ],
    email: ['ada', 'ada@', 'a@b@c', 'a b@c', 'a@b;c@d', `${'a'.repeat(250)}@b.cd`],
    machines_allowed: ['0', '-1', '1.5', '1,5', '100001', '1e3', 'one', '\uff11', '999999999999'],
    expires_at: [
      '04.01.2030',
      '2030-02-30',
      '2030-1-4',
      'tomorrow',
      '2030-01-04 12:00',
      'Never',
      '1969-12-31',
    ],
    on_expiry: ['Stop', 'run', 'true'],
  };
  const cases = ALL.flatMap((name) => INVALID_CELLS[name].map((cell) => [name, cell] as const));
  test.each(cases)('is refused where %s is %p', (name, cell) => {
    const cells = ALL.map(
      (column) => ({ license_key: KEY, email: 'a@b.c', [name]: cell })[column as string] ?? '',
    );
    expect(parseRow(ALL, cells, DEFAULTS).faults).toEqual([SENTENCES[name]]);
  });

  test('reports all its faults, in a fixed order', () => {
    expect(parseRow(ALL, ['x', '', '0', 'x', 'x'], DEFAULTS).faults).toEqual([
      SENTENCES.license_key,
      'email is missing',
      SENTENCES.machines_allowed,
      SENTENCES.expires_at,
      SENTENCES.on_expiry,
    ]);
    expect(parseRow(ALL, ['', 'a@b', '', '', ''], DEFAULTS).faults).toEqual(['license_key is missing']);
  });

  test('with another number of cells is refused', () => {
    const sentence = 'the number of cells must be 2, as in the header';
    const parsed = (cells: string[]) => parseRow(['license_key', 'email'], cells, DEFAULTS);
    expect(parsed([KEY])).toEqual({ faults: [sentence] });
    expect(parsed([KEY, 'a@b', ''])).toEqual({ faults: [sentence] });
  });

  test('never makes the parser throw, and no fault repeats a cell', () => {
    const cell = fc.oneof(fc.string({ unit: 'binary', minLength: 6 }), fc.emailAddress(), fc.constant(KEY));
    fc.assert(
      fc.property(fc.array(cell, { minLength: 2, maxLength: 6 }), (cells) => {
        const { license, faults } = parseRow(ALL, cells, DEFAULTS);
        const listed = faults.join('\n');
        expect(cells.filter((text) => text.trim().length >= 6 && listed.includes(text.trim()))).toEqual([]);
        expect(faults.length > 0 || Object.values(license!).every((value) => value !== undefined)).toBe(true);
      }),
    );
  });
});
