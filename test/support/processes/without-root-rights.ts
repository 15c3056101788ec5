/** The beginning of a command that must obey the modes of files and folders, which root need not do. Empty for another user. */
export const WITHOUT_ROOT_RIGHTS: readonly string[] =
  process.getuid!() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : [];
