import { Notice } from '../../shared/notice.js';
import { number, plural, shortMoment } from '../../shared/dates.js';
import { Loaded } from '../parts/loaded.js';
import { Table, type Column } from '../parts/table.js';
import { useFew } from '../parts/use-few.js';
import type { FailingMail, ServiceStatusAnswer } from '../../shared/api-types.js';
import { useLoad } from '../use-load.js';
import { messages } from '../messages.js';

const FEW = 10;
const texts = messages.service;
type JobCounts = ServiceStatusAnswer['jobs'][number];

const MAILS: readonly Column<FailingMail>[] = [
  { name: texts.mail, head: true, cell: ({ kind }) => texts.mails[kind] ?? kind },
  { name: texts.mailReason, cell: ({ reason }) => reason },
  { name: texts.mailAttempts, number: true, cell: ({ attempts }) => number(attempts) },
  { name: texts.mailSince, cell: ({ waiting_since }) => shortMoment(waiting_since) },
  {
    name: texts.mailNext,
    cell: ({ next_attempt_at }) => (next_attempt_at ? shortMoment(next_attempt_at) : texts.mailGivenUp),
  },
  { name: texts.mailAbout, cell: ({ about }) => <span class="mono small">{about}</span> },
];

const JOBS: readonly Column<JobCounts>[] = [
  { name: texts.job, head: true, cell: ({ task }) => <span class="mono small">{task}</span> },
  { name: texts.jobWaiting, number: true, cell: ({ waiting }) => number(waiting) },
  { name: texts.jobLate, number: true, cell: ({ late }) => number(late) },
  { name: texts.jobFailing, number: true, cell: ({ failing }) => number(failing) },
];

/** The warnings of the service, its undelivered mail and its waiting jobs. */
export function ServiceStatus() {
  const load = useLoad<ServiceStatusAnswer>('service');
  return (
    <section class="flow" aria-labelledby="status">
      <h2 id="status">{texts.statusTitle}</h2>
      <Loaded load={load} waiting={texts.statusWaiting}>
        {({ warnings, mail, jobs }) => (
          <>
            {warnings.length === 0 ? (
              <Notice kind="good">{texts.noWarnings}</Notice>
            ) : (
              <Notice kind="warning">
                <ul class="flow">
                  {warnings.map((warning) => (
                    <li key={warning}>{warning}</li>
                  ))}
                </ul>
              </Notice>
            )}
            <p>{plural(mail.waiting, texts.mailWaiting)}</p>
            <Failing mails={mail.failing} />
            <Jobs jobs={jobs.filter(({ waiting, failing }) => waiting + failing > 0)} />
          </>
        )}
      </Loaded>
    </section>
  );
}

function Failing({ mails }: { mails: readonly FailingMail[] }) {
  const { shown, more } = useFew(mails, FEW);
  if (mails.length === 0) return null;
  const idOf = ({ kind, about, waiting_since }: FailingMail) => `${kind}-${about}-${waiting_since}`;
  return (
    <>
      <Table caption={plural(mails.length, texts.mailCaption)} columns={MAILS} rows={shown} idOf={idOf} />
      {more}
    </>
  );
}

function Jobs({ jobs }: { jobs: readonly JobCounts[] }) {
  if (jobs.length === 0) return <p class="quiet">{texts.noJobs}</p>;
  return <Table caption={texts.jobsCaption} columns={JOBS} rows={jobs} idOf={({ task }) => task} />;
}
