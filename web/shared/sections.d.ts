// The build loads one section of the file of a language as a module, so that a page has no texts of other pages (vite.config.ts).
declare module '*/en.json?shared' {
  const texts: import('../../src/languages/messages.js').Messages['shared'];
  export default texts;
}
declare module '*/en.json?portal' {
  const texts: import('../../src/languages/messages.js').Messages['portal'];
  export default texts;
}
declare module '*/en.json?privacy' {
  const texts: import('../../src/languages/messages.js').Messages['privacy'];
  export default texts;
}
