import type { PrivacyData } from '../shared/api-types.js';
import { ask } from '../shared/api.js';

export type Table = PrivacyData['tables'][number];

export const readPrivacyData = () => ask<PrivacyData>('GET', 'data');

// Each comment of the database says what it is and, from "kept" on, how long: that has a column of its own here.
export const whatOf = ({ what }: Table) => what.replace(/[.:;]? kept .*$/i, '').replace(/\.$/, '');
