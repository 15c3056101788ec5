// What the first view of the page does not need: one file, which is loaded before a part of it is used (load-on-demand.ts).
export { isMistyped } from '../shared/forms/mistyped-key.js';
export { AskForErasure } from './ask-for-erasure.js';
export { AskForRelease } from './ask-for-release.js';
export { CodeEntry } from './code-entry.js';
export { CodeForm } from './code-form.js';
export { ReleaseMyself } from './release-myself.js';
export { saveExport } from './save-export.js';
export { SignInAgain } from './sign-in-again.js';
