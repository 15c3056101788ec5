import { render } from 'preact';
import english from '../../src/languages/en.json?shared';
import { moveFocus } from '../shared/notices/announcer.js';
import { loadBrand } from '../shared/page/brand.js';
import { showTexts } from '../shared/texts/receive-texts.js';
import { App } from './frame/app.js';
import { followPlainKeys } from './parts/plain-keys.js';
import { takeLink } from './sign-in/link.js';
import './support.css';

showTexts(english);
followPlainKeys();

// The secret of a one-time link is removed from the URL before the page renders or sends a request.
const link = takeLink();

// The fragment of the URL names the view that is shown, so the link that skips to the content must not change it.
document.querySelector('.skip')?.addEventListener('click', (event) => {
  event.preventDefault();
  moveFocus(document.getElementById('main'));
});

void loadBrand().then(() => render(<App link={link} />, document.getElementById('page')!));
