import { render } from 'preact';
import { moveFocus } from '../shared/announcer.js';
import { App } from './app.js';
import { takeLink } from './sign-in/link.js';
import './support.css';

// The link is removed from the URL before the page renders or sends a request.
const link = takeLink();

// The fragment says which view is shown: the link that skips to the content must not change it.
document.querySelector('.skip')?.addEventListener('click', (event) => {
  event.preventDefault();
  moveFocus(document.getElementById('main'));
});

render(<App link={link} />, document.getElementById('page')!);
