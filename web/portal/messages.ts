/** All texts of the portal, in one file so that they can be translated. `{…}` is filled in, `#` is a number. */
export const messages = {
  name: 'License portal',
  question: 'Where is my license active?',
  questionLead: 'Sign in to see every machine that uses your license, and to free a place for a new one.',
  waiting: 'Looking for your license …',
  privacy: 'What is stored, why, and for how long',

  summary: {
    inUse: '{used} of {allowed} machines in use',
    full: {
      one: 'To use your license on another machine, this one has to be released first.',
      other: 'To use your license on another machine, one of these has to be released first.',
    },
    /** For more machines in use than allowed, because the machine limit was lowered. */
    over: 'To use your license on another machine, {count} of these have to be released first.',
    free: {
      one: 'You can use it on # more machine: enter your key there.',
      other: 'You can use it on # more machines: enter your key there.',
    },
    /** For a holder with several licenses, of which one (`freeWithKey`) or several (`freeWithKeys`) have a free place. */
    freeWithKey: {
      one: 'You can use # more machine: enter the key that ends in {hints} there.',
      other: 'You can use # more machines: enter the key that ends in {hints} there.',
    },
    freeWithKeys: {
      one: 'You can use # more machine: enter one of the keys that end in {hints} there.',
      other: 'You can use # more machines: enter one of the keys that end in {hints} there.',
    },
    noLicense: 'No license here',
    noLicenseLead: 'No license belongs to {email} any more.',
    ended: {
      suspended: 'This license is suspended',
      refunded: 'This license was refunded',
      revoked: 'This license was revoked',
      expired: 'This license has expired',
    },
    noneWorks: 'None of your licenses works at present',
  },

  signIn: {
    email: 'E-mail address',
    emailHint: 'The one your license was bought with.',
    key: 'License key',
    keyHint: 'It is in the mail that came with your purchase.',
    submit: 'Show my machines',
    lostKey: 'I lost my key',
    haveKey: 'I have my key',
    lostLead: 'We mail you a code. Once you are signed in with it, we can mail you your key as well.',
    codeLead: 'We mail you a code to sign in with.',
    mailCode: 'Mail me a code',
    codeMailed:
      'If a license belongs to {email}, a code is on its way there. It is good for 10 minutes, in this browser.',
    code: 'Code',
    codeHint: '8 digits, from the mail.',
    signIn: 'Sign in',
    otherCode: 'Mail me another code',
    otherCodeMailed: 'Another code is on its way.',
    otherAddress: 'Use another address',
    missingEmail: 'Enter your e-mail address.',
    wrongEmail: 'This does not look like an e-mail address.',
    missingKey: 'Enter your license key.',
    wrongKey: 'This does not look like a license key. It has four groups of four characters.',
    mistypedKey: 'One character looks mistyped. Compare the key with the one in your mail.',
    wrongCode: 'The code has 8 digits.',
  },

  /** For a page that the application opened because all machines of the license are in use. */
  freeAPlace: {
    headline: 'All machines of your license are in use',
    lead: 'Release one that you no longer use, and its place is free for the machine in front of you.',
    codeFirst: 'First we mail a code to the address of your license, to see that it is you.',
    codeMailed: 'A code is on its way to {email}. It is good for 10 minutes, in this browser.',
    show: 'Show my machines',
    other: 'Sign in another way',
    expired:
      'This link was good for 10 minutes. Click Activate in the application again, or sign in another way.',
    releaseOne: 'Release the machine that you no longer use. Then go back to the application.',
    askSupport:
      'Ask support to release the machine that you no longer use. When support has released it, click Activate in the application again.',
    free: 'A place is free. Go back to the application: it activates by itself within seconds, or when you click Activate.',
  },

  session: {
    as: 'Signed in as {email}',
    signOut: 'Sign out',
    signedOut: 'You are signed out.',
    ended: 'Your session has ended',
    endedLead: 'Sign in again to go on. What you typed is still there.',
    notNow: 'Not now',
    again: 'Sign in again',
    endedNotice: 'Your session has ended: what you see may be out of date.',
    signedInAgain: 'You are signed in again.',
    signedInByCode: 'You are signed in with a code.',
  },

  license: {
    title: 'License key ending in {hint}',
    /** On the printed page only. */
    licensedTo: 'Licensed to {email}.',
    statuses: {
      active: 'Active',
      updates_ended: 'Active',
      suspended: 'Suspended',
      refunded: 'Refunded',
      revoked: 'Revoked',
      expired: 'Expired',
    },
    explanations: {
      suspended:
        'It is suspended for now, so the application does not work with it: most often a payment is being looked into. Your machines keep their places.',
      refunded: 'Its purchase was refunded, and with that it ended on every machine.',
      revoked:
        'It was withdrawn, so the application does not work with it. If that is a mistake, ask support.',
    },
    onlyThis: 'You see the license of the key that you entered.',
    showAll: 'Show all licenses of {email}',
    expiry: {
      never: 'No expiry',
      updates: 'Updates through {day}',
      updatesOver: 'Updates ran through {day}. The versions published until then go on working.',
      runs: 'Runs through {day}',
      runsOver: 'Ran through {day}. The application does not work with it any more.',
    },
    renew: 'Renew the license',
    buy: 'Buy a license',
    sendKey: 'Send me the key',
    keySent: 'The key is on its way to {email}.',
  },

  machines: {
    caption: 'Machines in use',
    captionEnded: 'Machines no longer in use',
    ended: { one: '# machine no longer in use', other: '# machines no longer in use' },
    machine: 'Machine',
    /** `{id}` is the end of the activation id. */
    details: 'Activated {day} with {version} · {id}',
    filter: 'Find a machine',
    filtered: { one: '# machine found', other: '# machines found' },
    filterNone: 'No machine in use has this in its name, its version or the end of its id.',
    state: 'State',
    endedColumn: 'Ended',
    unnamed: 'Unnamed machine',
    thisMachine: 'This machine',
    active: 'Active',
    asked: 'Asked on {day}',
    declined: 'Support declined a release on {day}.',
    declinedWhy: '“{reason}”',
    released: 'Released on {day}',
    refunded: 'Refunded on {day}',
    none: 'Not active anywhere yet. Enter your key in the application, and the machine appears here.',
    noneNow: 'Not active anywhere now. Enter your key in the application, and the machine appears here.',
    notHere: 'The application opened this page for a machine that is not on the licenses shown here.',
    noLastSeen: 'When a machine was last used is not shown, because it is not stored.',
    whatIsStored: 'What is stored',
  },

  release: {
    ask: 'Ask support to release',
    askTitle: 'Ask support to release {machine}?',
    askLead: 'Nothing changes until support has looked at it.',
    what: 'Once it is released, the application stops on {machine} when that machine is next online, and its place is free for another.',
    reason: 'Reason',
    reasonHint: 'It helps support decide: sold, lost, broken, reinstalled … Leave out names and addresses.',
    reasonWrong: 'At most 500 characters, and no e-mail address.',
    send: 'Send to support',
    sent: 'Support has been asked. You get a mail when it is decided.',
    self: 'Release',
    selfTitle: 'Release {machine}?',
    left: {
      one: 'You can do this # more time without asking support. A release uses up one of your releases for 365 days.',
      other:
        'You can do this # more times without asking support. A release uses up one of your releases for 365 days.',
    },
    confirm: 'Release it',
    done: 'It is released. Its place is free.',
    cancel: 'Cancel',
    codeMailed: 'A code is on its way to {email}. Enter it to release the machine.',
    codeFirst:
      'You are signed in with a license key, which other people may know, so we first mail a code to {email}.',
  },

  data: {
    title: 'Your data',
    download: 'Download',
    downloadLead: 'Everything held about you, as one file.',
    downloadFile: 'my-license-data.json',
    downloaded: 'The file is downloaded.',
    delete: 'Delete my data …',
    deleteLead: 'End your licenses, and erase what is held about you.',
    needsCode:
      'You are signed in with a license key, and other people may know that key. To download or delete what is held about you, first show that the mailbox is yours.',
    signInByCode: 'Sign in with a code',
    erasureTitle: 'Delete everything held about you?',
    ends: {
      one: 'Your license ends for good, on every machine.',
      other: 'Your # licenses end for good, on every machine.',
    },
    endsNone: 'You have no license left that would end.',
    stops: {
      one: 'The application stops on # machine.',
      other: 'The application stops on # machines.',
    },
    erased: 'Your e-mail address, and the names and ids of your machines, are erased.',
    kept: 'Of a purchase its transaction id, status and day stay until {day}, because tax law asks for them. Your address is not among them.',
    keptNone: 'No purchase of yours is kept for tax.',
    takeBack: 'For 3 days you can take this back here. After that it cannot be undone.',
    telemetry: 'Anonymous statistics hold no link to you, so there is nothing of yours in them to find.',
    confirm: 'Delete my data',
    keep: 'Keep everything',
    asked: 'Deletion asked for on {day}.',
    runs: 'It runs on {moment}. Until then you can take it back.',
    running: 'It is about to run.',
    takeItBack: 'Take it back',
    takenBack: 'Taken back. Nothing is deleted.',
    willRun: 'Deletion is asked for. For 3 days you can take it back.',
  },

  unavailable: 'The service cannot be reached just now. Check your connection, or try again in a moment.',
  unavailableTyped:
    'The service cannot be reached just now. What you typed is still here: try again in a moment.',
  failed: 'Something went wrong on our side. Try again in a moment.',
  retry: 'Try again',
  /** By the `code` of a problem. For other codes the page shows the service's `detail`, or `failed` from status 500 on. */
  refused: {
    license_not_found:
      'No license has this key together with this e-mail address. Check both, or say that you lost your key.',
    code_invalid: 'This code is wrong or no longer good, or it was asked for in another browser.',
    too_many_requests: 'There were too many attempts. Please try again later.',
    sign_in_required:
      'Your session had ended, so nothing was done. Sign in again, then press the button once more.',
    not_found: 'This is no longer here. Load the page again.',
    mailbox_proof_needed: 'For this, sign in with a code by mail.',
    release_needs_support: 'You cannot release a machine yourself just now. Support can do it for you.',
    cross_origin: 'Open this page at its own address, and try again.',
  } as Readonly<Record<string, string>>,
} as const;
