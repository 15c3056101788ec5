-- The 12 months that a license stays after its end count from the later of the end and the moment that end was recorded:
-- an expiry that is set to a day long past by mistake must leave time to correct it (docs/decisions/0023).

alter table license add column end_changed_at timestamptz not null default now();
comment on column license.end_changed_at is
  'When its end was last changed, by whatever changed it. The license is kept 12 months from its end, or from then if that is later.';
-- An end of staff or of a purchase was recorded when it came. It is not known when an expiry was set: those count from now.
update license set end_changed_at = ended_at where ended_at is not null;

-- The retention policy asks by this expression (src/retention/policy.ts).
create index license_kept_from on license ((
  case when least(ended_at, case when on_expiry = 'stop' then expires_at end) is not null
    then greatest(least(ended_at, case when on_expiry = 'stop' then expires_at end), end_changed_at) end));
drop index license_end;

comment on column audit_event.actor is 'Staff e-mail address, cli, or retention. Kept 24 months.';

-- Whether retention works is asked often, of each rule: each look is a look-up in an index.
create index one_time_code_expires_at on one_time_code (expires_at);
create index session_expires_at on session (expires_at);
create index staff_link_expires_at on staff_link (expires_at);
create index staff_token_expires_at on staff_token (expires_at);
create index mail_recipient_since on mail_recipient (since);
create index erasure_request_ended_at on erasure_request ((coalesce(honoured_at, cancelled_at)));
create index retention_run_finished_at on retention_run (finished_at) where finished_at is not null;

-- Where no retention run has ever finished, the age of the database says whether one should have.
alter table schema_migration add column applied_at timestamptz not null default now();
comment on column schema_migration.applied_at is 'When it was applied; of migrations before 0015, when that one was. Kept for ever; nothing personal.';
