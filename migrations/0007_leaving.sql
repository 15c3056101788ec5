-- What leaves, and when: the end of a license, requests for deletion, the ledger of the runs, and the weekly roll-ups
-- that are all that staff see of telemetry.

alter table license add column ended_at timestamptz;
comment on column license.ended_at is 'When it was refunded, revoked or erased; null while it is valid. The license is kept 12 months from then.';
update license l set ended_at = now()
where staff_status = 'revoked' or exists (select 1 from purchase p where p.id = l.purchase_id and p.state = 'refunded');
-- One that stops at its expiry ends with it; one that keeps running what it covers is valid for ever.
create index license_end on license ((least(ended_at, case when on_expiry = 'stop' then expires_at end)));
create index activation_ended_at on activation (ended_at) where ended_at is not null;
create index purchase_year_after on purchase ((make_date(extract(year from recorded_on)::integer + 1, 1, 1)));
create index purchase_email on purchase (email);

create table erasure_request (
  id           uuid primary key,
  email        text check (length(email) <= 254),
  asked_by     text not null check (asked_by in ('holder', 'staff')),
  reason       text check (length(reason) <= 500),
  received_on  date not null,
  runs_at      timestamptz not null,
  honoured_at  timestamptz,
  cancelled_at timestamptz,
  erased       jsonb,
  -- Until it is honoured or taken back it must know whom it is about; from then on it must not.
  constraint erasure_request_forgets check ((email is null) = (honoured_at is not null or cancelled_at is not null)),
  constraint erasure_request_ends_once check (honoured_at is null or cancelled_at is null)
);
create unique index erasure_request_one_open on erasure_request (email);
create index erasure_request_honoured_at on erasure_request (honoured_at);
comment on table  erasure_request              is 'Requests for deletion, due 30 days after they were received. Kept 12 months after they were honoured or taken back, without the e-mail.';
comment on column erasure_request.id           is 'The request''s id. Kept with the request.';
comment on column erasure_request.email        is 'Whose data it is about. Kept until it is honoured or taken back.';
comment on column erasure_request.asked_by     is 'Who asked: the holder, or staff for him or her. Kept with the request.';
comment on column erasure_request.reason       is 'Why, where staff asked. Kept with the request.';
comment on column erasure_request.received_on  is 'The day (UTC) it was received; it is due 30 days later. Kept with the request.';
comment on column erasure_request.runs_at      is 'When it is carried out: at once, or 3 days after a holder asked. Kept with the request.';
comment on column erasure_request.honoured_at  is 'When it was carried out; null while it waits. The request is kept 12 months from then.';
comment on column erasure_request.cancelled_at is 'When the holder took it back; null where not. The request is kept 12 months from then.';
comment on column erasure_request.erased       is 'How many licenses, activations and purchases it concerned, and until when the purchases stay. Kept with the request.';

create table retention_run (
  id          uuid primary key,
  as_of       timestamptz not null,
  started_at  timestamptz not null,
  finished_at timestamptz,
  deleted     jsonb not null default '{}',
  oldest      jsonb not null default '{}',
  failed      text[] not null default '{}'
);
create index retention_run_started_at on retention_run (started_at);
comment on table  retention_run             is 'The ledger of the retention runs. Kept 24 months; nothing personal.';
comment on column retention_run.id          is 'The run''s id. Kept 24 months.';
comment on column retention_run.as_of       is 'The moment it ran for. Kept 24 months.';
comment on column retention_run.started_at  is 'When it started. Kept 24 months from then.';
comment on column retention_run.finished_at is 'When it finished; null where it was cut short. Kept 24 months.';
comment on column retention_run.deleted     is 'How many rows left each table. Kept 24 months.';
comment on column retention_run.oldest      is 'The oldest day that rows to leave were counted from, by table. Kept 24 months.';
comment on column retention_run.failed      is 'The tables where a step failed. Kept 24 months.';

create table fleet_week (
  week_end date primary key check (extract(isodow from week_end) = 7)
);
comment on table  fleet_week          is 'The weeks whose telemetry was counted. Kept 24 months from the week''s end.';
comment on column fleet_week.week_end is 'The Sunday it ended on. Kept 24 months from then.';

-- Folded before it is stored: no cell stands for fewer than 280 heartbeats (privacy, Telemetry).
create table fleet_cell (
  week_end   date not null references fleet_week on delete cascade,
  dimension  text not null,
  value      text,
  value_2    text,
  is_other   boolean not null,
  heartbeats integer not null check (heartbeats >= 280)
);
create index fleet_cell_week on fleet_cell (week_end);
comment on table  fleet_cell            is 'How many heartbeats of a week said what. Kept 24 months from the week''s end.';
comment on column fleet_cell.week_end   is 'The Sunday the week ended on. Kept 24 months from then.';
comment on column fleet_cell.dimension  is 'What was counted, such as hardware. Kept 24 months from the week''s end.';
comment on column fleet_cell.value      is 'What they said; null where they said nothing, or where it is the rest. Kept 24 months from the week''s end.';
comment on column fleet_cell.value_2    is 'What they said of the second of two, else null. Kept 24 months from the week''s end.';
comment on column fleet_cell.is_other   is 'Whether it is the rest: values too rare to be shown, together. Kept 24 months from the week''s end.';
comment on column fleet_cell.heartbeats is 'How many heartbeats, never fewer than 280. Kept 24 months from the week''s end.';

create table fleet_latency (
  week_end date not null references fleet_week on delete cascade,
  soc_name text not null,
  p50      integer not null,
  p90      integer not null,
  p95      integer not null,
  primary key (week_end, soc_name)
);
comment on table  fleet_latency          is 'How long the detector took, by chip, where a week has at least 280 answers. Kept 24 months from the week''s end.';
comment on column fleet_latency.week_end is 'The Sunday the week ended on. Kept 24 months from then.';
comment on column fleet_latency.soc_name is 'Name of the system-on-chip. Kept 24 months from the week''s end.';
comment on column fleet_latency.p50      is 'Half took at most this many milliseconds. Kept 24 months from the week''s end.';
comment on column fleet_latency.p90      is 'Nine of ten took at most this many milliseconds. Kept 24 months from the week''s end.';
comment on column fleet_latency.p95      is 'Nineteen of twenty took at most this many milliseconds. Kept 24 months from the week''s end.';

create table crash_week (
  week_end    date not null references fleet_week on delete cascade,
  crash_sig   text not null,
  app_version text,
  crash_label text,
  crash_frame text,
  crashes     integer not null check (crashes >= 1)
);
create index crash_week_week on crash_week (week_end);
comment on table  crash_week             is 'Where the application broke, by week; never beside hardware. Kept 24 months from the week''s end.';
comment on column crash_week.week_end    is 'The Sunday the week ended on. Kept 24 months from then.';
comment on column crash_week.crash_sig   is 'The 16 hex digits that group like crashes. Kept 24 months from the week''s end.';
comment on column crash_week.app_version is 'The build that crashed; null where it was not said. Kept 24 months from the week''s end.';
comment on column crash_week.crash_label is 'Faulting binary or exception type, the most frequent of the group. Kept 24 months from the week''s end.';
comment on column crash_week.crash_frame is 'Application-relative frame, the most frequent of the group. Kept 24 months from the week''s end.';
comment on column crash_week.crashes     is 'How many heartbeats told of it. Kept 24 months from the week''s end.';

-- Nothing is remembered of the inbox for the planner either: it would name the ids that had come by the last `analyze`,
-- for as long as the inbox stays empty.
alter table telemetry_inbox
  alter column id set statistics 0,
  alter column received_on set statistics 0,
  alter column app_version set statistics 0,
  alter column os_version set statistics 0,
  alter column mac_model set statistics 0,
  alter column arch set statistics 0,
  alter column cpu_cores set statistics 0,
  alter column ram_gb_bucket set statistics 0,
  alter column camera_count set statistics 0,
  alter column detector_type set statistics 0,
  alter column uptime_hours set statistics 0,
  alter column crash_count_since_last set statistics 0,
  alter column soc_name set statistics 0,
  alter column detector_compute set statistics 0,
  alter column recent_inference_ms set statistics 0,
  alter column detector_compute_units_resolved set statistics 0,
  alter column unlock_retry_outcome set statistics 0,
  alter column crash_kind set statistics 0,
  alter column crash_signal set statistics 0,
  alter column crash_label set statistics 0,
  alter column crash_frame set statistics 0,
  alter column crash_sig set statistics 0,
  alter column crash_uptime_secs set statistics 0,
  alter column crash_frame_source set statistics 0,
  alter column crash_app_version set statistics 0,
  alter column crash_abort_reason set statistics 0;

-- Nor of what names a person: an erasure empties rows, and not what the planner has sampled of them.
alter table license         alter column email set statistics 0;
alter table purchase        alter column email set statistics 0;
alter table activation      alter column machine_id set statistics 0, alter column hostname_hint set statistics 0;
alter table mail_recipient  alter column email set statistics 0;
alter table one_time_code   alter column email set statistics 0;
alter table erasure_request alter column email set statistics 0;
alter table release_request alter column reason set statistics 0;
