/** The texts of the components that all pages share. */
export const common = {
  working: 'One moment …',
  dismiss: 'Dismiss',
  toasts: 'Messages',
  support: 'Support: {contact}',
  vendor: 'From {vendor}',
  offline: 'You are offline. Nothing is lost: try again once this device has a connection.',
  discard: 'What you typed would be lost. To discard it, press Escape again.',
} as const;

/** Returns the text to show if the service cannot be reached: the given one, unless the device itself is offline. */
export const unavailableText = (text: string) => (navigator.onLine ? text : common.offline);
