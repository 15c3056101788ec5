import { render } from 'preact';
import { Page } from '../shared/page.js';

render(
  <Page>
    <h1>To come</h1>
  </Page>,
  document.getElementById('page')!,
);
