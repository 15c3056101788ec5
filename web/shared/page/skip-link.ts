import { moveFocus } from '../notices/announcer.js';

/** Lets the link that skips to the content keep the fragment of the URL, which says what the page shows. */
export function keepFragmentOnSkip(): void {
  document.querySelector('.skip')!.addEventListener('click', (event) => {
    event.preventDefault();
    moveFocus(document.getElementById('main'));
  });
}
