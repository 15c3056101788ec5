import { messages } from './messages.js';

/**
 * Saves the data of the holder as a file. The data is requested by script and not by a link: if the session has ended, a link would
 * save the error response as the file.
 */
export function saveExport(data: unknown): void {
  const file = new Blob([JSON.stringify(data, null, 2)], { type: 'application/json' });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file);
  link.download = messages.data.downloadFile;
  link.click();
  // The URL is revoked later, because the browser has not read the file yet.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
