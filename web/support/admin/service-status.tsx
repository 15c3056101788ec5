import { Notice } from '../../shared/notices/notice.js';
import { formatNumber, plural } from '../../shared/dates/dates.js';
import { RelativeTime } from '../parts/relative-time.js';
import { fill, t, UntrustedText } from '../../shared/texts/text.js';
import { Loaded } from '../parts/loaded.js';
import { Table, type Column } from '../parts/table.js';
import { useFirstRows } from '../parts/use-first-rows.js';
import type {
  EventBacklog,
  FailingMail,
  JobCounts,
  ServiceStatusAnswer,
  WaitingMail,
} from '../../../src/http/responses/api-types.js';
import { hrefOf } from '../route.js';
import { useLoad } from '../use-load.js';
import { messages } from '../messages.js';

const ROWS_SHOWN_AT_FIRST = 10;
const texts = messages.service;

const MAIL_COLUMNS: readonly Column<FailingMail>[] = [
  { name: texts.mail, isRowHeader: true, cell: ({ kind }) => texts.mails[kind] ?? kind },
  {
    name: texts.mailReason,
    cell: ({ reason }) => (
      <span class="reason">
        <UntrustedText text={reason} />
      </span>
    ),
  },
  { name: texts.mailAttempts, isNumber: true, cell: ({ attempts }) => formatNumber(attempts) },
  { name: texts.mailSince, cell: ({ waiting_since }) => <RelativeTime at={waiting_since} /> },
  {
    name: texts.mailNext,
    cell: ({ next_attempt_at }) =>
      next_attempt_at ? <RelativeTime at={next_attempt_at} isPlanned /> : texts.mailGivenUp,
  },
  { name: texts.mailAbout, cell: (mail) => <About mail={mail} /> },
];

const JOB_COLUMNS: readonly Column<JobCounts>[] = [
  {
    name: texts.job,
    isRowHeader: true,
    // This is the name that logs and metrics use.
    cell: ({ task }) => (
      <span class="mono small">
        <UntrustedText text={task} />
      </span>
    ),
  },
  { name: texts.jobWaiting, isNumber: true, cell: ({ waiting }) => formatNumber(waiting) },
  { name: texts.jobLate, isNumber: true, cell: ({ late }) => formatNumber(late) },
  { name: texts.jobFailing, isNumber: true, cell: ({ failing }) => formatNumber(failing) },
];

/** The kinds of mails whose `about` is the id of a license. */
const LICENSE_MAIL = /^license_key|^email_changed$/;

function About({ mail: { kind, about } }: { mail: FailingMail }) {
  if (LICENSE_MAIL.test(kind)) return <a href={hrefOf('license', about)}>{texts.theLicense}</a>;
  return (
    <span class="mono small">
      <UntrustedText text={about} />
    </span>
  );
}

/** The jobs that send mails are left out, because the page lists the mails. */
const isOtherUnfinishedJob = ({ task, waiting, failing }: JobCounts) =>
  waiting + failing > 0 && !task.startsWith('mail_');

/** The warnings of the service, its undelivered mail and its waiting jobs. */
export function ServiceStatus() {
  const load = useLoad<ServiceStatusAnswer>('service');
  return (
    <section class="flow" aria-labelledby="status">
      <h2 id="status">{texts.statusTitle}</h2>
      <Loaded load={load} loadingText={texts.statusWaiting}>
        {({ warnings, mail, events, jobs }) => (
          <>
            {warnings.length === 0 ? (
              <Notice kind="good">{texts.noWarnings}</Notice>
            ) : (
              <Notice kind="warning">
                {warnings.length === 1 ? (
                  <p>
                    <UntrustedText text={warnings[0]!} />
                  </p>
                ) : (
                  <ul class="flow">
                    {warnings.map((warning) => (
                      <li key={warning}>
                        <UntrustedText text={warning} />
                      </li>
                    ))}
                  </ul>
                )}
              </Notice>
            )}
            <UnsentMails mail={mail} />
            {events.is_recording && <UnsentEvents events={events} />}
            <Jobs jobs={jobs.filter(isOtherUnfinishedJob)} />
          </>
        )}
      </Loaded>
    </section>
  );
}

/** Each mail is counted once: as one that failed, or as one that waits for its first attempt. */
function UnsentMails({ mail: { untried, failed, failing } }: { mail: WaitingMail }) {
  if (failed === 0) return <p>{plural(untried, texts.mailWaiting)}</p>;
  return (
    <>
      <FailingMails mails={failing} count={failed} />
      {untried > 0 && <p>{plural(untried, texts.mailUntried)}</p>}
    </>
  );
}

function UnsentEvents({ events }: { events: EventBacklog }) {
  const { waiting, failing, given_up, reason } = events;
  return (
    <>
      <p>{plural(waiting, texts.eventsWaiting)}</p>
      {reason !== null && (
        <p>
          {fill(texts.eventsUndelivered, {
            failing: formatNumber(failing),
            given_up: formatNumber(given_up),
            reason: <UntrustedText text={reason} />,
          })}
        </p>
      )}
    </>
  );
}

/** The service lists the first hundred of these mails. */
function FailingMails({ mails, count }: { mails: readonly FailingMail[]; count: number }) {
  const { shown, showAllButton } = useFirstRows(mails, ROWS_SHOWN_AT_FIRST);
  const idOf = ({ kind, about, waiting_since }: FailingMail) => `${kind}-${about}-${waiting_since}`;
  return (
    <>
      <Table
        caption={
          count > mails.length
            ? t(texts.mailCaptionAtLimit, { count: formatNumber(count), listed: formatNumber(mails.length) })
            : plural(count, texts.mailCaption)
        }
        columns={MAIL_COLUMNS}
        rows={shown}
        idOf={idOf}
      />
      {showAllButton}
    </>
  );
}

function Jobs({ jobs }: { jobs: readonly JobCounts[] }) {
  if (jobs.length === 0) return <p class="quiet">{texts.noJobs}</p>;
  return (
    <div class="jobs">
      <Table caption={texts.jobsCaption} columns={JOB_COLUMNS} rows={jobs} idOf={({ task }) => task} />
    </div>
  );
}
