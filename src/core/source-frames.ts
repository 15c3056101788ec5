import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';

/** The position in a frame of a stack trace, in a built file. */
const BUILT_POSITION = /(file:\/\/\S+\.js):(\d+):(\d+)/;

const maps = new Map<string, SourceMap | undefined>();

/**
 * Names the line of the source in a frame of a stack trace, if the built file has a source map. Node could do the same
 * (`--enable-source-maps`), but would read the maps at the start, which takes 8 MiB (docs/decisions/0057).
 * @param frame such as `confirm (file:///opt/mooring/dist/serve.js:41:7)`
 * @returns `confirm (src/heartbeat/heartbeat.service.ts:12:5)`
 */
export function sourceFrame(frame: string): string {
  return frame.replace(BUILT_POSITION, (position, url: string, line: string, column: string) => {
    const entry = mapOf(url)?.findEntry(Number(line) - 1, Number(column) - 1);
    // The map lacks the code of packages. For it, `findEntry` returns the last mapping before the position, on an earlier line.
    if (!entry || !('originalSource' in entry) || entry.generatedLine !== Number(line) - 1) return position;
    const source = entry.originalSource.replace(/^(\.\.\/)+/, '');
    return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
  });
}

function mapOf(url: string): SourceMap | undefined {
  if (!maps.has(url)) maps.set(url, readMap(`${url}.map`));
  return maps.get(url);
}

/** Reads a source map. @returns undefined if the file is missing or is no map: frames are then logged with their built positions */
function readMap(url: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(fileURLToPath(url), 'utf8')));
  } catch {
    return undefined;
  }
}
