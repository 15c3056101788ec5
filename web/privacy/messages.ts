/** All texts of the privacy page, except those that the service reports. */
export const messages = {
  name: 'Privacy',
  title: 'What is stored, why, and for how long',
  lead: 'First in plain words, then every table and every column, as the service itself reports them.',
  plain: [
    {
      title: 'Your license',
      text: 'Your e-mail address, and which machines use the license: the name you gave a machine, the version and the day it was activated, and a digest of its hardware id that is used for this one license alone. Of the license key only a digest and its last two characters. That is what it takes to know that a license is yours and where it is in use.',
    },
    {
      title: 'Your purchase',
      text: 'Its transaction id, status and day, and your address. Tax law asks for the first three; the address goes with you when you ask for deletion.',
    },
    {
      title: 'Statistics',
      text: 'The application says which version, system and hardware it runs on, and whether it crashed. Such a row holds no time, key, account or machine, only the day. From the next day on nothing links it to a license, or to another row of the same machine. Staff see weekly counts of at least ten machines’ worth, never a row.',
    },
    {
      title: 'What is not stored',
      text: 'Your network address: the service cannot see it. When you last used a machine. Anything you do in the application.',
    },
    {
      title: 'Deletion',
      text: 'In the license portal you can download everything held about you, and have it deleted. It waits three days, in which you can take it back. A receipt then says what was deleted, and what is kept, why and until when.',
    },
  ],
  contact: 'Questions about your data: {contact}',
  portal: 'Go to the license portal',
  waiting: 'Asking the service what it stores …',
  unavailable: 'The service cannot be reached just now, so what it stores cannot be listed here.',
  failed: 'Something went wrong on our side, so what is stored cannot be listed just now.',
  retry: 'Try again',
  report: 'As the service reports it',
  lastRun: 'Rows past their period are deleted every hour; last on {time}.',
  noRun: 'Rows past their period are deleted every hour. The first run is still to come.',
  legend: 'The oldest row is the next to be deleted. Its period is counted from the day that is shown.',
  groups: {
    holders: 'About license holders',
    telemetry: 'Statistics without a person',
    staff: 'About the vendor’s staff',
    operation: 'What the service needs to run',
  },
  columns: { what: 'What', kept: 'Kept', oldest: 'Oldest row', deleted: 'Last deleted' },
  nothingOld: 'none to delete',
  nothingDeleted: 'nothing yet',
  deleted: { one: '# row on {day}', other: '# rows on {day}' },
  details: { one: 'Every column of this table', other: 'Every column of these # tables' },
} as const;
