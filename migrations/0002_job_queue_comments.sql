-- The tables of the job queue. graphile-worker creates them before these migrations run.

comment on table graphile_worker._private_jobs is 'Jobs that wait, are in progress or failed: mails to send, erasure requests to carry out.';
comment on column graphile_worker._private_jobs.id is 'Id of the job.';
comment on column graphile_worker._private_jobs.job_queue_id is 'Queue whose jobs run one after the other; null for none.';
comment on column graphile_worker._private_jobs.task_id is 'Kind of the job.';
comment on column graphile_worker._private_jobs.payload is 'Ids of the subject of the job, the language of its mail and whether staff requested an erasure, never a key, a code or an address.';
comment on column graphile_worker._private_jobs.priority is 'Priority: lower numbers run first.';
comment on column graphile_worker._private_jobs.run_at is 'Time of the next attempt.';
comment on column graphile_worker._private_jobs.attempts is 'The number of attempts.';
comment on column graphile_worker._private_jobs.max_attempts is 'The largest number of attempts.';
comment on column graphile_worker._private_jobs.last_error is 'Error of the last attempt, without personal data.';
comment on column graphile_worker._private_jobs.created_at is 'Time of creation.';
comment on column graphile_worker._private_jobs.updated_at is 'Time of the last change.';
comment on column graphile_worker._private_jobs.key is 'Kind of the job and id of its subject, so that a subject has one job of a kind at a time; also the id of a mail whose recipient is stored.';
comment on column graphile_worker._private_jobs.locked_at is 'Time since which an instance works on the job; null while the job waits.';
comment on column graphile_worker._private_jobs.locked_by is 'The instance that works on the job.';
comment on column graphile_worker._private_jobs.revision is 'How often the job was replaced while it waited.';
comment on column graphile_worker._private_jobs.flags is 'Not used.';
comment on column graphile_worker._private_jobs.is_available is 'Whether the job may be attempted.';

comment on table graphile_worker._private_tasks is 'Kinds of jobs.';
comment on column graphile_worker._private_tasks.id is 'Number of the kind.';
comment on column graphile_worker._private_tasks.identifier is 'Name of the kind, such as mail_license_key.';

comment on table graphile_worker._private_job_queues is 'Queues whose jobs run one after the other. Not used.';
comment on column graphile_worker._private_job_queues.id is 'Number of the queue.';
comment on column graphile_worker._private_job_queues.queue_name is 'Name of the queue.';
comment on column graphile_worker._private_job_queues.locked_at is 'Time since which an instance works on one of its jobs.';
comment on column graphile_worker._private_job_queues.locked_by is 'The instance that works on one of its jobs.';
comment on column graphile_worker._private_job_queues.is_available is 'Whether its next job may be attempted.';

comment on table graphile_worker._private_known_crontabs is 'Schedule of the job queue. Not used.';
comment on column graphile_worker._private_known_crontabs.identifier is 'Entry of the schedule.';
comment on column graphile_worker._private_known_crontabs.known_since is 'Time at which the job queue first saw the entry.';
comment on column graphile_worker._private_known_crontabs.last_execution is 'Time of the last run of the entry.';

comment on table graphile_worker.migrations is 'Applied migrations of the job queue.';
comment on column graphile_worker.migrations.id is 'Number of the migration.';
comment on column graphile_worker.migrations.ts is 'Time of application.';
comment on column graphile_worker.migrations.breaking is 'Whether older versions of the job queue cannot use the result.';
