import { ask } from '../shared/api.js';

/** What `GET /privacy/data` answers. */
export interface PrivacyData {
  readonly tables: readonly Table[];
  readonly last_run: { readonly as_of: string; readonly finished_at: string | null } | null;
}

export interface Table {
  readonly name: string;
  readonly what: string | null;
  readonly kept: string | null;
  /** Whether rows are deleted when their time is over. */
  readonly leaves: boolean;
  /** The day that the oldest row which will leave counts from. */
  readonly oldest: string | null;
  readonly last_deleted: { readonly on: string; readonly rows: number } | null;
  readonly columns: readonly { readonly name: string; readonly what: string }[];
}

export const readPrivacyData = () => ask<PrivacyData>('GET', 'data');

// Each comment of the database says what it is and, from "kept" on, how long: that has a column of its own here.
export const whatOf = ({ what, name }: Table) =>
  (what ?? name).replace(/[.:;]? kept .*$/i, '').replace(/\.$/, '');
