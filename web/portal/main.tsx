import { render } from 'preact';
// The URL of a file with these two sections of the English texts (vite.config.ts).
import english from '../../src/languages/en.json?url=shared+portal';
import { loadBrand } from '../shared/page/brand.js';
import { openInLanguage } from '../shared/page/language.js';
import { keepFragmentOnSkip } from '../shared/page/skip-link.js';
import { followTranslation } from '../shared/page/translation.js';
import { Portal } from './portal.js';
import './portal.css';

keepFragmentOnSkip();
followTranslation();

const page = document.getElementById('page')!;
void loadBrand().then(() => openInLanguage('portal', english, () => render(<Portal />, page)));
