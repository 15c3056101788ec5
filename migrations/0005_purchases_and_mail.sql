-- Purchases as the processor reports them, and the mails that wait to be sent.

-- Whether `paid` was seen cannot be read from the state: a dispute may be reported first, and an erased buyer who is
-- reported once more must not get a second license.
alter table purchase add column paid boolean not null default false;
comment on column purchase.paid is 'Whether a paid report came: the license was issued then, once. Kept for tax until the purchase leaves.';
-- Every purchase there is was made with its license.
update purchase set paid = true where id in (select purchase_id from license);

create table mail_recipient (
  mail_id uuid primary key,
  email   text not null check (length(email) <= 254),
  since   timestamptz not null
);
comment on table  mail_recipient         is 'Where a waiting mail goes that must go to this address, whatever other rows say by then. Kept until it is sent, at most 7 days.';
comment on column mail_recipient.mail_id is 'The mail that waits. Kept until it is sent, at most 7 days.';
comment on column mail_recipient.email   is 'The e-mail address it goes to. Kept until it is sent, at most 7 days.';
comment on column mail_recipient.since   is 'Since when it waits. Kept until it is sent, at most 7 days.';

-- The job queue's own tables (graphile-worker makes them, before these migrations run).
comment on table  graphile_worker._private_jobs              is 'Work that waits to be done: mails to be sent, deletion requests to be carried out. Kept until done; what failed for good, at most 7 days.';
comment on column graphile_worker._private_jobs.id           is 'The job''s number. Kept with the job.';
comment on column graphile_worker._private_jobs.job_queue_id is 'Jobs of one queue run one after the other; null for none. Kept with the job.';
comment on column graphile_worker._private_jobs.task_id      is 'What kind of work it is. Kept with the job.';
comment on column graphile_worker._private_jobs.payload      is 'The ids it is about: never a key, a code or an address. Kept with the job.';
comment on column graphile_worker._private_jobs.priority     is 'Which goes first: a lower number. Kept with the job.';
comment on column graphile_worker._private_jobs.run_at       is 'When it is tried next. Kept with the job.';
comment on column graphile_worker._private_jobs.attempts     is 'How often it was tried. Kept with the job.';
comment on column graphile_worker._private_jobs.max_attempts is 'How often it is tried at most. Kept with the job.';
comment on column graphile_worker._private_jobs.last_error   is 'Why the last try failed, in words of ours that name nobody. Kept with the job.';
comment on column graphile_worker._private_jobs.created_at   is 'Since when it waits. Kept with the job.';
comment on column graphile_worker._private_jobs.updated_at   is 'When it was last changed. Kept with the job.';
comment on column graphile_worker._private_jobs.key          is 'What it is about, so that one thing waits once: the kind of work and an id. Kept with the job.';
comment on column graphile_worker._private_jobs.locked_at    is 'Since when an instance works at it; null while it waits. Kept with the job.';
comment on column graphile_worker._private_jobs.locked_by    is 'Which instance works at it. Kept with the job.';
comment on column graphile_worker._private_jobs.revision     is 'How often it was replaced while it waited. Kept with the job.';
comment on column graphile_worker._private_jobs.flags        is 'Not used here. Kept with the job.';
comment on column graphile_worker._private_jobs.is_available is 'Whether it may be tried. Kept with the job.';

comment on table  graphile_worker._private_tasks            is 'The kinds of work there are. Kept for ever; nothing personal.';
comment on column graphile_worker._private_tasks.id         is 'A number of its own. Kept for ever; nothing personal.';
comment on column graphile_worker._private_tasks.identifier is 'Its name, such as mail_license_key. Kept for ever; nothing personal.';

comment on table  graphile_worker._private_job_queues              is 'Queues whose jobs run one after the other. Kept for ever; nothing personal.';
comment on column graphile_worker._private_job_queues.id           is 'A number of its own. Kept for ever; nothing personal.';
comment on column graphile_worker._private_job_queues.queue_name   is 'Its name. Kept for ever; nothing personal.';
comment on column graphile_worker._private_job_queues.locked_at    is 'Since when an instance works at one of its jobs. Kept for ever; nothing personal.';
comment on column graphile_worker._private_job_queues.locked_by    is 'Which instance does. Kept for ever; nothing personal.';
comment on column graphile_worker._private_job_queues.is_available is 'Whether its next job may be tried. Kept for ever; nothing personal.';

comment on table  graphile_worker._private_known_crontabs                is 'The job queue''s own schedule; not used here. Kept for ever; nothing personal.';
comment on column graphile_worker._private_known_crontabs.identifier     is 'Which entry of the schedule. Kept for ever; nothing personal.';
comment on column graphile_worker._private_known_crontabs.known_since    is 'When it was first seen. Kept for ever; nothing personal.';
comment on column graphile_worker._private_known_crontabs.last_execution is 'When it last ran. Kept for ever; nothing personal.';

comment on table  graphile_worker.migrations          is 'Which migrations of its own the job queue has had. Kept for ever; nothing personal.';
comment on column graphile_worker.migrations.id       is 'The number of the migration. Kept for ever; nothing personal.';
comment on column graphile_worker.migrations.ts       is 'When it was applied. Kept for ever; nothing personal.';
comment on column graphile_worker.migrations.breaking is 'Whether older versions cannot work with it. Kept for ever; nothing personal.';
