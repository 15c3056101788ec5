import { render } from 'preact';
// The URL of a file with these two sections of the English texts (vite.config.ts).
import english from '../../src/languages/en.json?url=shared+privacy';
import { loadBrand } from '../shared/page/brand.js';
import { openInLanguage } from '../shared/page/language.js';
import { followTranslation } from '../shared/page/translation.js';
import { Privacy } from './privacy.js';
import './privacy.css';

followTranslation();

const page = document.getElementById('page')!;
void loadBrand().then(() => openInLanguage('privacy', english, () => render(<Privacy />, page)));
