import { render } from 'preact';
import { Portal } from './portal.js';
import './portal.css';

render(<Portal />, document.getElementById('page')!);
