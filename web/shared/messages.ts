import type { ServiceUnavailable } from './api.js';

/** The texts of the components that all pages share. */
export const common = {
  working: 'One moment …',
  dismiss: 'Dismiss',
  toasts: 'Messages',
  support: 'Support: {contact}',
  vendor: 'From {vendor}',
  offline: 'You are offline. Nothing is lost: try again once this device has a connection.',
  offlineNotice: 'You are offline. What you see may be out of date. What you typed stays here.',
  onlineAgain: 'You are online again.',
  discard: 'What you typed would be lost. To discard it, press Escape again.',
} as const;

/** Returns the text to show if the service was not reached: the given one, unless the device itself was offline. */
export const unavailableText = ({ isOffline }: ServiceUnavailable, text: string) =>
  isOffline ? common.offline : text;
