import { render } from 'preact';
import english from '../../src/languages/en.json?shared';
import { loadBrand } from '../shared/page/brand.js';
import { keepFragmentOnSkip } from '../shared/page/skip-link.js';
import { followTranslation } from '../shared/page/translation.js';
import { showTexts } from '../shared/texts/receive-texts.js';
import { App } from './frame/app.js';
import { followPlainKeys } from './parts/plain-keys.js';
import { takeLink } from './sign-in/link.js';
import './support.css';

showTexts(english);
followPlainKeys();
keepFragmentOnSkip();
followTranslation();

// The secret of a one-time link is removed from the URL before the page renders or sends a request.
const link = takeLink();

void loadBrand().then(() => render(<App link={link} />, document.getElementById('page')!));
