// Takes pictures into docs/pages, and writes the index of them.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../prepare.mjs';

const OUTPUT_DIR = join(root, 'docs/pages');
const SIZE = { width: 1120, height: 900 };
/** Smaller than each page, to measure the height of its content. */
const MIN_HEIGHT = 100;
/** A longer page is cut, so that the pictures of all pages together stay below 5 MB. */
const MAX_HEIGHT = 2_400;

/** Opens pages of a service in a browser, and takes their pictures. */
export class Camera {
  #browser;
  #baseURL;
  /** The parts of the index, each with its title and its pictures. */
  #sections = [];

  constructor(browser, baseURL) {
    this.#browser = browser;
    this.#baseURL = baseURL;
    rmSync(OUTPUT_DIR, { recursive: true, force: true });
    mkdirSync(OUTPUT_DIR, { recursive: true });
  }

  /** Opens a page with cookies of its own. @param options of `newContext` of playwright-core */
  async openPage(options = {}) {
    const context = await this.#browser.newContext({
      baseURL: this.#baseURL,
      locale: 'en-GB',
      viewport: SIZE,
      reducedMotion: 'reduce',
      ...options,
    });
    return context.newPage();
  }

  /** Begins a part of the index, to which the next pictures belong. */
  beginSection(title) {
    this.#sections.push({ title, pictures: [] });
  }

  /**
   * Takes a picture of the whole page.
   * @param {string} name of the file, without its ending
   * @param {string} sentence what the picture shows
   */
  async take(page, name, sentence) {
    const size = page.viewportSize();
    // The window gets the height of the page, because a picture of the full page would not have the footer in its place.
    await page.setViewportSize({ ...size, height: MIN_HEIGHT });
    const height = await page.evaluate(() => globalThis.document.documentElement.scrollHeight);
    await page.setViewportSize({ ...size, height: Math.min(height, MAX_HEIGHT) });
    await page.evaluate(() => globalThis.scrollTo(0, 0));
    await this.takeVisible(page, name, sentence);
    await page.setViewportSize(size);
  }

  /** Takes a picture of what is in the window, as for a dialog. @param hasToast whether the newest message is in front of it */
  async takeVisible(page, name, sentence, { hasToast = false } = {}) {
    // The pointer moves to a corner, so that no element looks hovered.
    await page.mouse.move(0, 0);
    // Messages in front of the page would cover what the picture shows.
    await page.evaluate(
      (shown) => {
        for (const toast of globalThis.document.querySelectorAll('.toast'))
          toast.style.display = toast.matches(shown) ? '' : 'none';
      },
      hasToast ? ':last-child' : ':not(*)',
    );
    await page.screenshot({ path: join(OUTPUT_DIR, `${name}.png`) });
    this.#sections.at(-1).pictures.push({ name, sentence });
    console.log(`docs/pages/${name}.png`);
  }

  /** Writes the index: each picture with its sentence. */
  writeIndex() {
    const sections = this.#sections.map(({ title, pictures }) => {
      const parts = pictures.map(({ name, sentence }) => `${sentence}\n\n![${sentence}](${name}.png)\n`);
      return [`## ${title}\n`, ...parts].join('\n');
    });
    const lead =
      'What do the pages and mails look like? `npm run pictures` takes these pictures and writes this page. There are none in\n' +
      'Japanese, because the smallest Japanese font on npm has more than 3 MB, which is too much for pictures alone.\n';
    writeFileSync(join(OUTPUT_DIR, 'README.md'), ['# Pictures of the pages\n', lead, ...sections].join('\n'));
  }
}
