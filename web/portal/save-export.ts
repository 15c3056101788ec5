import { ApiError } from '../shared/api/api.js';
import { messages } from './messages.js';

/**
 * Saves the data of the holder as a file. The data is requested by script and not by a link: if the session has ended, a link would
 * save the error response as the file.
 * @param email the address of the holder that the page shows
 * @throws ApiError if the data is of another holder: a sign-in in one tab changes the session of all tabs
 */
export function saveExport(data: { readonly email: string }, email: string): void {
  if (data.email !== email) throw new ApiError(412, 'another_person', '');
  const file = new Blob([JSON.stringify(data, null, 2)], { type: 'application/json' });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file);
  link.download = messages.data.downloadFile;
  link.click();
  // The URL is revoked later, because the browser has not read the file yet.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
