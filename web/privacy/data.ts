import type { PrivacyData } from '../shared/api/api-types.js';
import { ask } from '../shared/api/api.js';

export type Table = PrivacyData['tables'][number];

export const readPrivacyData = () => ask<PrivacyData>('GET', 'data');

/** The description of a table, without its full stop. */
export const descriptionOf = ({ what }: Table) => what.replace(/\.$/, '');
