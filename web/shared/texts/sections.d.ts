// What a page gets when it imports the English texts (plugin `sections` in vite.config.ts). `?shared`: an object with that section.
// `?url=shared+portal`: the URL of a built file that has these sections.
declare module '*/en.json?shared' {
  const texts: Pick<import('../../../src/languages/messages.js').Messages, 'shared'>;
  export default texts;
}
declare module '*/en.json?url=shared+portal' {
  const url: string;
  export default url;
}
declare module '*/en.json?url=shared+privacy' {
  const url: string;
  export default url;
}
