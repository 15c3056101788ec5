import { LicenseProblem } from './problem.js';

// What people, mail programs and input methods put between the characters of a key (docs/keys.md#license-keys).
const SEPARATORS = /[\s\p{Cf}\p{S}ーｰ]|(?!_)\p{P}/gu;
const FULL_WIDTH = /[０-９Ａ-Ｚａ-ｚ]/g;
const WITH_UNDERSCORE = /^([A-Z0-9]{2,12})_((?:[A-Z0-9]_?){16})$/i;
const WITHOUT_UNDERSCORE = /^([A-Z0-9]{2,12})?([A-Z0-9]{16})$/i;
const MAX_TYPED_LENGTH = 200;
const DETAIL = 'must have the shape PREFIX_XXXX-XXXX-XXXX-XXXX';

/**
 * Reads a typed or pasted license key as the service does. A key that was typed without its prefix stays without one, because only
 * the service knows the prefix. The check symbol is not checked, because imported keys may lack it.
 * @returns the canonical text @throws LicenseProblem for a text that has not the shape of a key: the answer of the service, which
 *   need not be asked
 */
export function readLicenseKey(text: string): string {
  const typed = text.replace(SEPARATORS, '').replace(FULL_WIDTH, (character) => character.normalize('NFKC'));
  const shape = WITH_UNDERSCORE.exec(typed) ?? WITHOUT_UNDERSCORE.exec(typed);
  if (text.length > MAX_TYPED_LENGTH || !shape?.[2]) throw invalidKey();
  const prefix = shape[1] ? `${shape[1].toUpperCase()}_` : '';
  const symbols = shape[2].toUpperCase().replaceAll('_', '').replaceAll('O', '0').replaceAll(/[IL]/g, '1');
  return prefix + symbols.replace(/(.{4})(?!$)/g, '$1-');
}

function invalidKey(): LicenseProblem {
  return new LicenseProblem({
    status: 422,
    code: 'invalid_request',
    client_action: 'fix',
    detail: 'At least one member of the request has the wrong shape; errors names each.',
    errors: [{ pointer: '/license_key', detail: DETAIL }],
    extras: {},
  });
}
