import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isObject } from '../core/json-object.js';
import { AppLogger } from '../core/logger.js';
import { BUILT_IN_DESCRIPTIONS, BUILT_IN_LANGUAGES, ENGLISH, ENGLISH_DESCRIPTIONS } from './built-in.js';
import { completeMessages } from './complete-messages.js';
import type { Descriptions, Messages } from './messages.js';
import { canonicalTag } from './tags.js';

const DESCRIPTIONS_FOLDER = 'descriptions';
const MAX_BYTES = 256 * 1024;
/** The number of problems of a file that are logged. An unfinished translation can lack hundreds of messages. */
const MAX_LOGGED_PROBLEMS = 10;

/** Thrown for a file of which no text can be used. The message of the error is the end of a sentence. */
class UnusableFile extends Error {}

/**
 * Reads the languages of the files in LANGUAGES_DIR, such as `nl.json`. Every error is logged as a warning, because a missing or
 * invalid translation must not stop the service.
 */
export function readLanguageFiles(folder: string, log: AppLogger): Map<string, Messages> {
  return readFiles(folder, '', log, (tag) => BUILT_IN_LANGUAGES[tag] ?? ENGLISH);
}

/** Reads the translations of the descriptions of stored data, such as `descriptions/nl.json`. A language may have none. */
export function readDescriptionFiles(folder: string, log: AppLogger): Map<string, Descriptions> {
  if (!existsSync(join(folder, DESCRIPTIONS_FOLDER))) return new Map();
  return readFiles(
    folder,
    DESCRIPTIONS_FOLDER,
    log,
    (tag) => BUILT_IN_DESCRIPTIONS[tag] ?? ENGLISH_DESCRIPTIONS,
  );
}

/** @param fallbackOf returns the texts to use where the file of a language has none */
function readFiles<Texts>(
  folder: string,
  subfolder: string,
  log: AppLogger,
  fallbackOf: (tag: string) => Texts,
): Map<string, Texts> {
  const languages = new Map<string, Texts>();
  for (const name of namesIn(join(folder, subfolder), log)) {
    const file = join(subfolder, name);
    try {
      const tag = tagOf(name);
      // A file for a built-in language may have only the messages that it replaces. In other files a missing message is a problem.
      const mayLack = Object.hasOwn(BUILT_IN_LANGUAGES, tag);
      const { messages, problems } = completeMessages(fallbackOf(tag), parse(join(folder, file)), mayLack);
      languages.set(tag, messages);
      if (problems.length > 0) warn(log, file, problems);
    } catch (error) {
      log.warning('a file in LANGUAGES_DIR is not used', { file, reason: reasonOf(error) });
    }
  }
  return languages;
}

function namesIn(folder: string, log: AppLogger): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith('.json'))
      .toSorted();
  } catch (error) {
    log.warning('a folder of LANGUAGES_DIR cannot be read, so it adds no text', {
      folder,
      reason: reasonOf(error),
    });
    return [];
  }
}

function tagOf(fileName: string): string {
  const name = fileName.slice(0, -'.json'.length);
  const tag = canonicalTag(name);
  if (tag === undefined || tag !== name)
    throw new UnusableFile(`its name must be a language tag${tag ? `: ${tag}.json` : ', such as nl.json'}`);
  return tag;
}

function parse(path: string): unknown {
  if (statSync(path).size > MAX_BYTES) throw new UnusableFile(`it has more than ${MAX_BYTES / 1024} KiB`);
  const texts = parseJson(readFileSync(path, 'utf8'));
  if (!isObject(texts)) throw new UnusableFile('it is no JSON object');
  return texts;
}

function parseJson(text: string): unknown {
  try {
    // Some editors write a byte order mark first, which JSON does not allow.
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    throw new UnusableFile('it is not valid JSON');
  }
}

function warn(log: AppLogger, file: string, problems: readonly string[]): void {
  const first_problems = problems.slice(0, MAX_LOGGED_PROBLEMS).join('; ').slice(0, 1_000);
  log.warning('a file in LANGUAGES_DIR has errors, and its other messages are used', {
    file,
    problems: problems.length,
    first_problems,
  });
}

/** A reason without any content of the file. */
function reasonOf(error: unknown): string {
  if (error instanceof UnusableFile) return error.message;
  return String((error as NodeJS.ErrnoException).code ?? 'it cannot be read');
}
