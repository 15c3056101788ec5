/** The words of elements that all pages share. */
export const common = {
  working: 'One moment …',
  dismiss: 'Dismiss',
  offline: 'You are offline. Nothing is lost: try again once this device has a connection.',
  discard: 'What you typed would be lost. To discard it, press Escape again.',
} as const;

/** What to show if the service cannot be reached: this text, or that the device is offline. */
export const unlessOffline = (text: string) => (navigator.onLine ? text : common.offline);
