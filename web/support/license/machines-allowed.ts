const MOST = 100_000;

/** Whether what was typed is a number of machines that the service takes. */
export const isMachines = (text: string) =>
  /^\d{1,6}$/.test(text.trim()) && Number(text) >= 1 && Number(text) <= MOST;
