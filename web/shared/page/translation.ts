/**
 * Lets a text that the page changes be seen while a browser translates the page. A browser such as Chrome has then replaced the
 * text by a `font` element with its translation, which would stay as it is. The changed text takes its place again, and is
 * translated too.
 */
export function followTranslation(): void {
  /** The translation of each text that was replaced. */
  const translations = new WeakMap<Node, ChildNode>();
  const observer = new MutationObserver((records) => {
    for (const { target, addedNodes, removedNodes, previousSibling } of records) {
      translations.get(target)?.replaceWith(target);
      for (const removed of removedNodes) {
        // It was put either in the place of the text, or before the text.
        const translation = addedNodes[0] ?? previousSibling;
        if (translation?.nodeName !== 'FONT') continue;
        translations.set(removed, translation as ChildNode);
        observer.observe(removed, { characterData: true });
      }
    }
  });
  observer.observe(document.body, { childList: true, subtree: true });
}
