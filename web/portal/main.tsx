import { render } from 'preact';
import { openInLanguage } from '../shared/language.js';
import { Portal } from './portal.js';
import './portal.css';

const page = document.getElementById('page')!;
void openInLanguage('portal', () => render(<Portal />, page));
