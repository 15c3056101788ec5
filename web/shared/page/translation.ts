/**
 * Shows a changed text also while the browser translates the page. Chrome replaces a text node by a `font` element with its
 * translation. When the page changes the removed node, this function puts the node back in place of the `font` element, and the
 * browser translates it again.
 */
export function followTranslation(): void {
  /** The translation of each text that was replaced. */
  const translations = new WeakMap<Node, ChildNode>();
  const observer = new MutationObserver((records) => {
    for (const { target, addedNodes, removedNodes, previousSibling } of records) {
      translations.get(target)?.replaceWith(target);
      for (const removed of removedNodes) {
        // The browser inserts the translation in the step in which it removes the text, or earlier, directly before the text.
        const translation = addedNodes[0] ?? previousSibling;
        if (translation?.nodeName !== 'FONT') continue;
        translations.set(removed, translation as ChildNode);
        observer.observe(removed, { characterData: true });
      }
    }
  });
  observer.observe(document.body, { childList: true, subtree: true });
}
