import { expect, test } from '@jest/globals';
import { isWeakPassphrase } from '../../src/cli/terminal/passphrase-strength.js';

test.each([
  '',
  'short',
  'elevenchars',
  'aaaaaaaaaaaaaaaaaaaa',
  '            ',
  '123456789012',
  '098765432109876',
  'abcdefghijklmnop',
  'zyxwvutsrqponmlkjih',
  'qwertyuiop123',
  'QWERTZUIOPasdfgh',
  'abcabcabcabcabc',
  'horsehorsehorse',
  'passwordpassword',
  'Password12345!',
  'MyPassphrase2026',
  'mooring manifest',
  '😀😀😀😀😀😀😀😀😀😀😀😀',
])('%j is weak', (passphrase) => {
  expect(isWeakPassphrase(passphrase)).toBe(true);
});

test.each([
  'correct horse',
  'battery staple',
  'twelve chars',
  'x7#Kq9!mPz2&',
  'the secret garden of Burnett',
  'пароль от сейфа',
  '1234 ways to leave it',
])('%j is not weak', (passphrase) => {
  expect(isWeakPassphrase(passphrase)).toBe(false);
});
