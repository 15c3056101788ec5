import type { PrivacyData } from '../shared/api/api-types.js';
import { ask } from '../shared/api/api.js';

export type Table = PrivacyData['tables'][number];

/** @param language of the descriptions */
export const readPrivacyData = (language: string) => ask<PrivacyData>('GET', `data?language=${language}`);
