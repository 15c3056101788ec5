import type { HolderLicense } from '../shared/api-types.js';

/**
 * The hint with which the application opened the page after the machine limit refused an activation: `/portal/#release=<hint>`
 * (docs/contract.md#activate).
 */
export const releaseHint = () => new URLSearchParams(location.hash.slice(1)).get('release');

/** Whether the application opened the page to free a place of this license. A hint begins with the license id. */
export const isToBeFreed = ({ id }: Pick<HolderLicense, 'id'>) => releaseHint()?.split('.')[0] === id;
