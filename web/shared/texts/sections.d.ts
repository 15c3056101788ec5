// The build loads a section of the file of a language as a module, or the URL of a file with some sections (vite.config.ts).
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
