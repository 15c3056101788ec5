import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Config } from '../core/config.js';
import { AppLogger } from '../core/logger.js';
import type { Languages as LanguagesAnswer } from '../http/responses/api-types.js';
import { BUILT_IN_DESCRIPTIONS, BUILT_IN_LANGUAGES } from './built-in.js';
import { readDescriptionFiles, readLanguageFiles } from './language-files.js';
import { Language } from './language.js';
import type { Descriptions } from './messages.js';
import { lookUpLanguage } from './tags.js';

/** The pages that are translated. The names are those of sections of the files. */
export const PAGES = ['portal', 'privacy'] as const;
export type Page = (typeof PAGES)[number];

/** An entry of an `accept-language` header. `bestFor` does not use an entry with a quality of 0. */
const ENTRY = /^\s*([A-Za-z0-9-]{1,35})\s*(?:;\s*q=([01](?:\.\d{0,3})?)\s*)?$/;
const MAX_ENTRIES = 20;

/** The languages of pages and mails. */
@Injectable()
export class Languages {
  readonly views: LanguagesAnswer['languages'];
  readonly #languages: ReadonlyMap<string, Language>;
  readonly #descriptions: ReadonlyMap<string, Descriptions>;
  readonly #mailLanguage: Language;

  constructor({ languagesDir, mailLanguage }: Config, log: AppLogger) {
    const files = languagesDir === undefined ? [] : readLanguageFiles(languagesDir, log);
    const languages = new Map([...Object.entries(BUILT_IN_LANGUAGES), ...files]);
    this.#languages = new Map([...languages].map(([tag, messages]) => [tag, new Language(tag, messages)]));
    const descriptions = languagesDir === undefined ? [] : readDescriptionFiles(languagesDir, log);
    this.#descriptions = new Map([...Object.entries(BUILT_IN_DESCRIPTIONS), ...descriptions]);
    this.views = [...this.#languages.values()].map(({ tag, messages }) => ({
      tag,
      version: hash('sha256', JSON.stringify(messages)).slice(0, 16),
    }));
    this.#mailLanguage = this.#languages.get(mailLanguage) ?? this.english;
    if (this.#mailLanguage.tag !== mailLanguage)
      log.warning('MAIL_LANGUAGE has no file, so English replaces it', { language: mailLanguage });
  }

  get english(): Language {
    return this.#languages.get('en')!;
  }

  /** Returns the language with this tag; if there is none, the language of MAIL_LANGUAGE. */
  find(tag: string | undefined): Language {
    return (tag !== undefined && this.#languages.get(tag)) || this.#mailLanguage;
  }

  /** Returns the texts of a page in a language; undefined if there is no such language. */
  textsOf(tag: string, page: Page): object | undefined {
    const messages = this.#languages.get(tag)?.messages;
    return messages && { shared: messages.shared, [page]: messages[page] };
  }

  /** Returns the translations of the descriptions of stored data; none if the language has none. */
  descriptionsIn(tag: string): Descriptions {
    return this.#descriptions.get(tag) ?? {};
  }

  /**
   * Returns the tag of the best language for an `accept-language` header; undefined if it names none of the languages.
   * The result is one of the tags of the service and never text of the caller, so that it can be stored with a job.
   */
  bestFor(acceptLanguage: string | undefined): string | undefined {
    const wanted = (acceptLanguage ?? '')
      .split(',', MAX_ENTRIES)
      .flatMap((entry) => {
        const [, tag, quality = '1'] = ENTRY.exec(entry) ?? [];
        return tag && Number(quality) > 0 ? [{ tag, quality: Number(quality) }] : [];
      })
      .toSorted((a, b) => b.quality - a.quality);
    return lookUpLanguage(
      wanted.map(({ tag }) => tag),
      [...this.#languages.keys()],
    );
  }
}
