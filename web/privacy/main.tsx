import { render } from 'preact';
import { openInLanguage } from '../shared/language.js';
import { Privacy } from './privacy.js';
import './privacy.css';

const page = document.getElementById('page')!;
void openInLanguage('privacy', () => render(<Privacy />, page));
