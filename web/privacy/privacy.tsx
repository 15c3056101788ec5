import { useEffect, useRef, useState } from 'preact/hooks';
import { ask, ServiceUnavailable } from '../shared/api/api.js';
import { moveFocus } from '../shared/notices/announcer.js';
import { Unavailable } from '../shared/notices/unavailable.js';
import { brand, BrandFooter, BrandMark, ContactLine, setTitle } from '../shared/page/brand.js';
import { currentLanguage } from '../shared/page/language.js';
import { LanguageSwitch } from '../shared/page/language-switch.js';
import { Loading } from '../shared/notices/loading.js';
import { Page } from '../shared/page/page.js';
import type { PrivacyData } from '../../src/http/responses/api-types.js';
import { Report } from './report.js';
import { messages } from './messages.js';

/** Fixed explanations, which are shown even if the service does not answer, and below them the report of the service. */
export function Privacy() {
  const [stage, setStage] = useState<'waiting' | 'unavailable' | 'failed' | PrivacyData>('waiting');
  const language = currentLanguage();
  const requestCount = useRef(0);
  const load = async () => {
    const requestNumber = ++requestCount.current;
    const result = await ask<PrivacyData>('GET', `data?language=${language}`).catch((error) =>
      error instanceof ServiceUnavailable ? 'unavailable' : 'failed',
    );
    // The reader may have chosen another language meanwhile. Only the answer to the last request is shown.
    if (requestNumber === requestCount.current) setStage(result);
  };
  const retry = () => {
    setStage('waiting');
    // The button that tries again disappears, and its focus with it.
    moveFocus(document.getElementById('report'));
    void load();
  };
  // The old report stays until the one in the other language has arrived, so that the page does not scroll.
  useEffect(() => void load(), [language]);
  useEffect(() => setTitle(messages.name), [messages.name]);
  return (
    <Page
      header={<BrandMark page={messages.name} />}
      footer={
        <>
          <BrandFooter />
          <LanguageSwitch />
        </>
      }
    >
      <h1>{messages.title}</h1>
      <p class="lead">{messages.lead}</p>
      <div class="plain">
        {Object.values(messages.plain).map(({ title, text }) => (
          <section key={title}>
            <h2>{title}</h2>
            <p>{text}</p>
          </section>
        ))}
      </div>
      <ContactLine contact={brand.privacy_contact} text={messages.contact} />
      <p>
        <a href="../portal/">{messages.portal}</a>
      </p>
      <section class="report flow" aria-busy={stage === 'waiting'}>
        <h2 id="report">{messages.report}</h2>
        {stage === 'waiting' && <Loading text={messages.waiting} />}
        {(stage === 'unavailable' || stage === 'failed') && (
          <Unavailable text={messages[stage]} retry={messages.retry} onRetry={retry} />
        )}
        {typeof stage === 'object' && <Report data={stage} />}
      </section>
    </Page>
  );
}
