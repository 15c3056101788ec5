import { validate as isUuid } from 'uuid';
import { textField } from '../../core/field.js';

/** A position in a sorted list of licenses: the value that is sorted by, and the id of the license. */
export interface LicensePosition {
  /** As text, as the driver returns it: a number is not exact to the microsecond for a distant expiry. */
  readonly sort_key: string;
  readonly id: string;
  /**
   * In the list of a holder: when the license in the URL, which names the holder, got its address, in milliseconds; undefined if it
   * has had it since its issue. If it gets another address, it names another holder, and the position in the list of the former one
   * is refused.
   */
  readonly address_since?: number | undefined;
}

/**
 * The format of a cursor: sort key, `_` and license id, then `_` and `address_since` if that is defined. The sort key depends on
 * `sort`. `issued`: minus the time of issue in seconds. `status`: 1 to 4 (active, suspended, revoked, refunded). `expiry`: the
 * expiry in seconds, or `Infinity` if there is none.
 */
const CURSOR = /^(-?\d{1,12}(?:\.\d{1,6})?|Infinity)_([0-9a-f-]{36})(?:_(\d{1,15}))?$/;

/** The position after which a page begins, as `toCursor` writes it. */
export const cursorField = textField('must be the next_cursor of a page', (text): LicensePosition | null => {
  const [, sort_key = '', id = '', since] = CURSOR.exec(text) ?? [];
  return isUuid(id) ? { sort_key, id, address_since: since === undefined ? undefined : Number(since) } : null;
});

/** The position in a list as the text that a caller sends to get the next page. */
export const toCursor = ({ sort_key, id, address_since }: LicensePosition): string =>
  [sort_key, id, address_since ?? []].flat().join('_');
