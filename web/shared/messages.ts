/** The words of elements that all pages share. */
export const common = {
  working: 'One moment …',
  dismiss: 'Dismiss',
  discard: 'What you typed would be lost. To discard it, press Escape again.',
} as const;
