import { render } from 'preact';
import english from '../../src/languages/en.json?url=shared+privacy';
import { loadBrand } from '../shared/page/brand.js';
import { openInLanguage } from '../shared/page/language.js';
import { Privacy } from './privacy.js';
import './privacy.css';

const page = document.getElementById('page')!;
void loadBrand().then(() => openInLanguage('privacy', english, () => render(<Privacy />, page)));
