/** The element that takes the place of a text when a browser, such as Chrome, translates the page. */
const TRANSLATION = 'FONT';

/**
 * Lets a text that the page changes be seen while a browser translates the page. The browser has then replaced the text by its
 * translation, which would stay as it is. The changed text takes its place again, and the browser translates it too.
 */
export function followTranslation(): void {
  /** The translation of each text that was replaced. */
  const translations = new WeakMap<Node, Element>();
  const known = new WeakSet<Node>();
  const observer = new MutationObserver((records) => {
    for (const { type, target, addedNodes, removedNodes, previousSibling, nextSibling } of records) {
      if (type === 'characterData') {
        translations.get(target)?.replaceWith(target);
        translations.delete(target);
      }
      for (const text of removedNodes) {
        if (!(text instanceof Text)) continue;
        const translation = [addedNodes[0], previousSibling, nextSibling].find(
          (node) => node?.nodeName === TRANSLATION && !known.has(node),
        );
        if (!translation) continue;
        known.add(translation);
        translations.set(text, translation as Element);
        observer.observe(text, { characterData: true });
      }
    }
  });
  observer.observe(document.body, { childList: true, subtree: true });
}
