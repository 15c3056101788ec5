import { render } from 'preact';
import { Privacy } from './privacy.js';
import './privacy.css';

render(<Privacy />, document.getElementById('page')!);
