-- The schema of the first release. The public privacy page shows the comments on tables and columns. Only src/retention/
-- says how long each table is kept; the trigger on audit_event below repeats its 24 months.

-- Purchases and licenses

create table purchase (
  id             uuid primary key,
  transaction_id text not null unique check (length(transaction_id) between 1 and 200),
  email          text check (length(email) <= 254),
  state          text not null check (state in ('paid', 'disputed', 'dispute_won', 'refunded')),
  recorded_on    date not null,
  -- The column `state` does not show whether a payment was reported: a dispute may be reported first. Without this column, a
  -- later report about an erased buyer would issue a second license.
  paid           boolean not null default false
);
create index purchase_email on purchase (email);
create index purchase_year_after on purchase ((make_date(extract(year from recorded_on)::integer + 1, 1, 1)));
comment on table purchase is 'Purchases, as reported by the payment processor: the transaction id, the buyer, the state and the day.';
comment on column purchase.id is 'Id of the purchase.';
comment on column purchase.transaction_id is 'The processor''s id of the transaction, by which the processor identifies the buyer.';
comment on column purchase.email is 'E-mail address of the buyer, or of the holder if the license existed before the first paid report; null before that report and after an erasure.';
comment on column purchase.state is 'The highest state reported: paid, disputed, dispute_won or refunded.';
comment on column purchase.recorded_on is 'The day (UTC) of the first report.';
comment on column purchase.paid is 'Whether a paid report was received. The license is issued with the first one, once.';

create table license (
  id                uuid primary key,
  key_hash          bytea not null unique check (length(key_hash) = 32),
  key_hint          text not null check (length(key_hint) = 2),
  key_generation    integer not null default 1 check (key_generation >= 1),
  email             text check (length(email) <= 254),
  staff_status      text not null default 'active' check (staff_status in ('active', 'suspended', 'revoked')),
  machines_allowed  integer not null check (machines_allowed between 1 and 100000),
  expires_at        timestamptz,
  on_expiry         text not null check (on_expiry in ('keep', 'stop')),
  purchase_id       uuid references purchase,
  created_at        timestamptz not null,
  ended_at          timestamptz,
  end_changed_at    timestamptz not null default now(),
  email_since       timestamptz,
  address_lost_at   timestamptz,
  previous_key_hash bytea check (length(previous_key_hash) = 32),
  previous_key_hint text check (length(previous_key_hint) = 4),
  new_key_mailed_at timestamptz,
  constraint license_previous_key_has_hint check ((previous_key_hash is null) = (previous_key_hint is null))
);
create index license_email on license (email);
-- A transaction may have several licenses: one for each key that another system issued for it.
create index license_purchase on license (purchase_id);
create unique index license_previous_key on license (previous_key_hash) where previous_key_hash is not null;
-- The imported licenses whose new key has not been mailed yet.
create index license_new_key_to_mail on license (id) where previous_key_hash is not null and new_key_mailed_at is null;
-- The retention policy uses this expression (LICENSE_RETENTION_START in src/licenses/license-end.ts): the retention period
-- starts at the end of a license, or at the last change of this end if that is later (docs/decisions/0023).
create index license_kept_from on license ((
  case when least(ended_at, case when on_expiry = 'stop' then expires_at end) is not null
    then greatest(least(ended_at, case when on_expiry = 'stop' then expires_at end), end_changed_at) end));
-- The warnings of /health/ready count the licenses without a known address. There are few, so the index is small.
create index license_address_lost_at on license (address_lost_at) where address_lost_at is not null;
comment on table license is 'Licenses.';
comment on column license.id is 'Id of the license.';
comment on column license.key_hash is 'SHA-256 of the license key. The key itself is not stored.';
comment on column license.key_hint is 'The last two symbols of the key, to tell keys apart.';
comment on column license.key_generation is 'The generation of the derived key that is valid. A replacement of the key increments it.';
comment on column license.email is 'E-mail address of the holder, in lower case; null after an erasure, or if a restore lost it (address_lost_at).';
comment on column license.staff_status is 'Status set by staff: active, suspended or revoked. The status of the purchase is in purchase.state; when retention deletes the purchase, this status takes over its effect.';
comment on column license.machines_allowed is 'The number of machines on which the license may be active at once.';
comment on column license.expires_at is 'Time of expiry; null for a license that does not expire.';
comment on column license.on_expiry is 'Effect of expiry: keep (the application keeps running the versions that the license covers) or stop.';
comment on column license.purchase_id is 'The purchase that the license was issued for; null if there is none, or if it was deleted.';
comment on column license.created_at is 'Time of issue.';
comment on column license.ended_at is 'Time of the refund, revocation or erasure; null before. An expiry does not set it.';
comment on column license.end_changed_at is 'Time of the last change of the end of the license, by expiry date, refund, revocation or erasure.';
comment on column license.email_since is 'Time since which the license belongs to this e-mail address, after a change of the address or an import from another system; null otherwise.';
comment on column license.address_lost_at is 'Time since which the e-mail address is unknown, because a restored backup named an erased former holder; null if it is known, or if the license was erased.';

comment on column license.previous_key_hash is 'Keyed hash of the key that another system issued for the license before it was imported; null without one, and after an erasure.';
comment on column license.previous_key_hint is 'The last four characters of that key, by which its holder recognizes it; null without one, and after an erasure.';
comment on column license.new_key_mailed_at is 'Time at which the mail with the new key of an imported license was queued; null if there was none.';

-- A machine that activated before the key of its license was replaced has the replaced key stored. It may activate again with
-- this key, and gets the activation that it has (docs/decisions/0028).
create table replaced_key (
  license_id  uuid not null references license on delete cascade,
  key_hash    bytea not null check (length(key_hash) = 32),
  replaced_at timestamptz not null,
  primary key (license_id, key_hash)
);
-- A key that was replaced is never issued again.
create index replaced_key_hash on replaced_key (key_hash);
comment on table replaced_key is 'License keys that were replaced. Machines that activated with such a key are recognized by it.';
comment on column replaced_key.license_id is 'The license that the key belonged to.';
comment on column replaced_key.key_hash is 'SHA-256 of the license key. The key itself is not stored.';
comment on column replaced_key.replaced_at is 'Time of the replacement, never before an activation with the key.';

-- Activations

create table activation (
  id                 uuid primary key,
  license_id         uuid not null references license,
  machine_id         bytea check (length(machine_id) = 32),
  hostname_hint      text check (length(hostname_hint) between 1 and 100),
  app_version        text not null,
  activated_at       timestamptz not null,
  ended_at           timestamptz,
  ended_reason       text check (ended_reason in ('released', 'refunded')),
  released_by_holder boolean not null default false,
  constraint activation_ends_with_a_reason check ((ended_at is null) = (ended_reason is null)),
  -- The machine id is removed only after the end: by an erasure, or when the license gets another holder.
  constraint activation_active_has_machine check (machine_id is not null or ended_at is not null),
  constraint activation_released_by_holder_is_released check (not released_by_holder or ended_reason = 'released')
);
-- A machine has one active activation of a license, however often it activates (docs/contract.md#activate).
create unique index activation_one_active_per_machine on activation (license_id, machine_id) where ended_at is null;
create index activation_license on activation (license_id);
create index activation_ended_at on activation (ended_at) where ended_at is not null;
create index activation_active_machine on activation (machine_id) where ended_at is null;
comment on table activation is 'Activations of licenses on machines.';
comment on column activation.id is 'Id of the activation, which its license tokens contain.';
comment on column activation.license_id is 'The license.';
comment on column activation.machine_id is 'SHA-256 digest of the hardware UUID, computed by the client; null after an erasure, or if the activation had ended when another holder got the license.';
comment on column activation.hostname_hint is 'Label that the holder typed at activation; null without one, after an erasure, or if the activation had ended when another holder got the license.';
comment on column activation.app_version is 'Version of the application at activation.';
comment on column activation.activated_at is 'Time of activation.';
comment on column activation.ended_at is 'Time of the end; null while active.';
comment on column activation.ended_reason is 'How the activation ended: released or refunded; null while active.';
comment on column activation.released_by_holder is 'Whether the holder released the activation without support. Such releases are counted for 365 days.';

-- Activates a machine in one round trip, so that concurrent activations hold the lock of the license for a short time.
create function activate_machine(
  of_license uuid, read_revision text, new_id uuid, machine bytea, hint text, version text, at timestamptz
) returns table (
  machines_allowed integer, machines_in_use integer, activation_id uuid, activated_at timestamptz, hostname_hint text
) language plpgsql volatile as $$
#variable_conflict use_column
begin
  -- Concurrent activations of a license wait for each other here. The next statement has its own snapshot, so it sees the
  -- activations of those that committed before.
  perform 1 from license where id = of_license for update;
  with existing as (
    select l.machines_allowed, a.id, a.activated_at, a.hostname_hint,
           (select count(*)::integer from activation where license_id = of_license and ended_at is null) as machines_in_use
    from license l
    left join purchase p on p.id = l.purchase_id
    left join activation a on a.license_id = l.id and a.machine_id = machine and a.ended_at is null
    where l.id = of_license and concat(l.xmin, ' ', p.xmin) = read_revision
  ), created as (
    insert into activation (id, license_id, machine_id, hostname_hint, app_version, activated_at)
    select new_id, of_license, machine, hint, version, at
    from existing where id is null and machines_in_use < machines_allowed
    returning id, activated_at, hostname_hint
  )
  select existing.machines_allowed, existing.machines_in_use + (created.id is not null)::integer,
         coalesce(created.id, existing.id), coalesce(created.activated_at, existing.activated_at),
         coalesce(created.hostname_hint, existing.hostname_hint)
  into machines_allowed, machines_in_use, activation_id, activated_at, hostname_hint
  from existing left join created on true;
  if not found then
    return;
  end if;
  if activation_id is null then
    perform record_limit_reached(of_license, at);
  end if;
  return next;
end $$;
comment on function activate_machine is
  'Returns the activation of a machine: the existing one, or a new one if the license allows another machine; otherwise activation_id is null. '
  'Returns no row if the license or its purchase has changed since it was read (revision in src/activation/attempt-reads.ts).';

create table release_request (
  id            uuid primary key,
  activation_id uuid not null references activation on delete cascade,
  reason        text check (length(reason) <= 500),
  asked_at      timestamptz not null,
  decided_at    timestamptz,
  decision      text check (decision in ('release', 'decline')),
  language      text,
  constraint release_request_decided_at_a_time check ((decided_at is null) = (decision is null)),
  constraint release_request_language_until_decided check (language is null or decided_at is null)
);
-- An activation has at most one waiting request.
create unique index release_request_one_open_per_activation on release_request (activation_id) where decided_at is null;
create index release_request_activation on release_request (activation_id);
comment on table release_request is 'Requests of holders to release an activation.';
comment on column release_request.id is 'Id of the request.';
comment on column release_request.activation_id is 'The activation.';
comment on column release_request.reason is 'Reason given by the holder; null without one, or after another holder got the license.';
comment on column release_request.asked_at is 'Time of the request.';
comment on column release_request.decided_at is 'Time of the decision, or of the release that ended the activation meanwhile; null for an undecided request.';
comment on column release_request.decision is 'Decision: release (also if staff or retention released the activation without this request) or decline; null for an undecided request.';
comment on column release_request.language is 'Language of the page on which the holder requested it, for the mail about the decision; null for the language of mails, and after the decision.';

-- Telemetry: the reported fields, the day, and a random id. There is no key, no token and no time finer than a day. The
-- file of the inbox has the order of arrival until the rows move to `telemetry` after midnight (UTC). From then on,
-- nothing but its own values links a row to a license or to another row of the same machine (docs/privacy.md#telemetry).

create table telemetry_inbox (
  id uuid primary key,
  received_on date not null,
  app_version text,
  os_version text,
  mac_model text,
  arch text,
  cpu_cores integer,
  ram_gb_bucket text,
  camera_count integer,
  detector_type text,
  uptime_hours integer,
  crash_count_since_last integer,
  soc_name text,
  detector_compute text,
  recent_inference_ms integer,
  detector_compute_units_resolved text,
  unlock_retry_outcome text,
  crash_kind text,
  crash_signal text,
  crash_label text,
  crash_frame text,
  crash_sig text,
  crash_uptime_secs integer,
  crash_frame_source text,
  crash_app_version text,
  crash_abort_reason text
);
create index telemetry_inbox_received_on on telemetry_inbox (received_on);
comment on table telemetry_inbox is 'Telemetry of today. It moves to telemetry after midnight (UTC).';
comment on column telemetry_inbox.id is 'Random; created for this row alone.';
comment on column telemetry_inbox.received_on is 'The day (UTC) of receipt.';
comment on column telemetry_inbox.app_version is 'Application version.';
comment on column telemetry_inbox.os_version is 'Operating-system name and version.';
comment on column telemetry_inbox.mac_model is 'Hardware model identifier.';
comment on column telemetry_inbox.arch is 'CPU architecture.';
comment on column telemetry_inbox.cpu_cores is 'CPU core count.';
comment on column telemetry_inbox.ram_gb_bucket is 'Memory size bucket in GB.';
comment on column telemetry_inbox.camera_count is 'Count of cameras, never anything about them.';
comment on column telemetry_inbox.detector_type is 'Detector backend type.';
comment on column telemetry_inbox.uptime_hours is 'Uptime in hours.';
comment on column telemetry_inbox.crash_count_since_last is 'Crashes since the previous heartbeat.';
comment on column telemetry_inbox.soc_name is 'Name of the system-on-chip.';
comment on column telemetry_inbox.detector_compute is 'The compute target configured: ane or gpu.';
comment on column telemetry_inbox.recent_inference_ms is 'Most recent detector latency in milliseconds.';
comment on column telemetry_inbox.detector_compute_units_resolved is 'Which compute units the detector actually got.';
comment on column telemetry_inbox.unlock_retry_outcome is 'Whether the launch-time license check had to retry, and how it ended.';
comment on column telemetry_inbox.crash_kind is 'After a crash: native, python or unknown.';
comment on column telemetry_inbox.crash_signal is 'After a native crash: the OS signal name.';
comment on column telemetry_inbox.crash_label is 'After a crash: faulting binary or exception type.';
comment on column telemetry_inbox.crash_frame is 'After a crash: application-relative frame, module.path.function:line.';
comment on column telemetry_inbox.crash_sig is 'After a crash: 16 hex digits, equal for similar crashes.';
comment on column telemetry_inbox.crash_uptime_secs is 'After a crash: seconds from the start of the application to the crash.';
comment on column telemetry_inbox.crash_frame_source is 'After a crash: which rule picked the frame.';
comment on column telemetry_inbox.crash_app_version is 'After a crash: the build whose line numbers the frame belongs to.';
comment on column telemetry_inbox.crash_abort_reason is 'After an abort: its known category, never the message.';

-- The rows of a day move from the inbox after midnight, in the order of their random ids. There is no default partition,
-- because with one a month could not be detached concurrently.
create table telemetry (like telemetry_inbox including comments) partition by range (received_on);
create index telemetry_received_on on telemetry (received_on);
comment on table telemetry is 'Telemetry of past days, with a partition for each month.';

-- After midnight (UTC) the two inboxes exchange their names, which is fast for any number of rows. The rows are then moved
-- without a concurrent writer, and the draining table is truncated.
create table telemetry_inbox_draining (like telemetry_inbox including all);
comment on table telemetry_inbox_draining is 'Telemetry of past days while it moves to telemetry, after midnight (UTC).';

create view telemetry_waiting as
  select received_on from telemetry_inbox union all select received_on from telemetry_inbox_draining;
comment on view telemetry_waiting is 'The days of the rows that have not moved to telemetry.';
comment on column telemetry_waiting.received_on is 'The day (UTC) of receipt.';

-- Weekly counts: staff see no other data of telemetry

create table fleet_week (
  week_end date primary key check (extract(isodow from week_end) = 7)
);
comment on table fleet_week is 'Weeks whose telemetry has been counted.';
comment on column fleet_week.week_end is 'The Sunday on which the week ended.';

-- Values with fewer than 280 heartbeats are counted together before they are stored (docs/privacy.md#telemetry).
create table fleet_cell (
  week_end   date not null references fleet_week on delete cascade,
  dimension  text not null,
  value      text,
  value_2    text,
  is_other   boolean not null,
  heartbeats bigint not null check (heartbeats >= 280)
);
create index fleet_cell_week on fleet_cell (week_end);
comment on table fleet_cell is 'Weekly counts of heartbeats by value of a telemetry field.';
comment on column fleet_cell.week_end is 'The Sunday on which the week ended.';
comment on column fleet_cell.dimension is 'The telemetry field, or pair of fields, whose values are counted.';
comment on column fleet_cell.value is 'The value; null for heartbeats without a valid value, and for the remainder.';
comment on column fleet_cell.value_2 is 'The value of the second field of a pair, otherwise null.';
comment on column fleet_cell.is_other is 'Whether this is the remainder: all values that have no row of their own, counted together.';
comment on column fleet_cell.heartbeats is 'The number of heartbeats, at least 280.';

create table fleet_latency (
  week_end date not null references fleet_week on delete cascade,
  soc_name text not null,
  p50      integer not null,
  p90      integer not null,
  p95      integer not null,
  primary key (week_end, soc_name)
);
comment on table fleet_latency is 'Weekly detector latency by chip, for at least 280 heartbeats.';
comment on column fleet_latency.week_end is 'The Sunday on which the week ended.';
comment on column fleet_latency.soc_name is 'Name of the system-on-chip.';
comment on column fleet_latency.p50 is 'The 50th percentile in milliseconds.';
comment on column fleet_latency.p90 is 'The 90th percentile in milliseconds.';
comment on column fleet_latency.p95 is 'The 95th percentile in milliseconds.';

create table crash_week (
  week_end    date not null references fleet_week on delete cascade,
  crash_sig   text not null,
  app_version text,
  crash_label text,
  crash_frame text,
  crashes     integer not null check (crashes >= 1)
);
create index crash_week_week on crash_week (week_end);
create index crash_week_sig on crash_week (crash_sig);
comment on table crash_week is 'Weekly counts of crashes, never combined with hardware.';
comment on column crash_week.week_end is 'The Sunday on which the week ended.';
comment on column crash_week.crash_sig is '16 hex digits, equal for similar crashes.';
comment on column crash_week.app_version is 'The build that crashed or, if it was not reported, the version that reported the crash; null if both are unknown.';
comment on column crash_week.crash_label is 'Faulting binary or exception type, the most frequent of these crashes.';
comment on column crash_week.crash_frame is 'Application-relative frame, the most frequent of these crashes.';
comment on column crash_week.crashes is 'The number of heartbeats that reported the crash.';

-- Manifests, which are never changed or deleted

create table manifest (
  sequence     bigint primary key check (sequence >= 1),
  -- There is no unique index, because its entries hold at most 2,704 bytes, and a manifest with many older versions is longer.
  signed       text not null,
  signatures   jsonb not null,
  published_at timestamptz not null
);
comment on table manifest is 'Published update manifests. They are public.';
comment on column manifest.sequence is 'Number of the manifest. The highest one is live.';
comment on column manifest.signed is 'The signed bytes, as they are sent.';
comment on column manifest.signatures is 'The signatures of these bytes, each with its key_id.';
comment on column manifest.published_at is 'Time of publication.';

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name;
end $$;

create trigger manifest_is_append_only before update or delete on manifest
  for each row execute function refuse_change();
create trigger manifest_is_never_emptied before truncate on manifest
  for each statement execute function refuse_change();

-- Staff, and how they sign in

create table staff (
  id         uuid primary key,
  email      text not null unique check (length(email) <= 254),
  role       text not null check (role in ('support', 'admin')),
  created_at timestamptz not null
);
comment on table staff is 'Staff members of the vendor.';
comment on column staff.id is 'Id of the staff member.';
comment on column staff.email is 'E-mail address, which names the staff member in the audit trail.';
comment on column staff.role is 'support (reads, releases, mails keys and sets the states of crash groups) or admin (may do everything).';
comment on column staff.created_at is 'Time at which the staff member was added.';

create table crash_group_state (
  crash_sig     text primary key,
  state         text not null check (state in ('resolved', 'muted')),
  resolved_in   text check ((state = 'resolved') = (resolved_in is not null)),
  changed_by    uuid references staff on delete set null,
  changed_at    timestamptz not null,
  -- The row is deleted with the last week in which its group crashed.
  last_week_end date not null references fleet_week on delete cascade
);
create index crash_group_state_staff on crash_group_state (changed_by);
create index crash_group_state_week on crash_group_state (last_week_end);
comment on table crash_group_state is 'Crash groups that staff marked as resolved or muted. A group without a row is open.';
comment on column crash_group_state.crash_sig is '16 hex digits, equal for similar crashes.';
comment on column crash_group_state.state is 'resolved (until it crashes in resolved_in or a later version) or muted.';
comment on column crash_group_state.resolved_in is 'The version that resolves the crash; null for a muted group.';
comment on column crash_group_state.changed_by is 'Id of the staff member who set the state; null once that person is removed.';
comment on column crash_group_state.changed_at is 'Time of the change.';
comment on column crash_group_state.last_week_end is 'The Sunday of the last counted week in which the group crashed.';

create table passkey (
  id            uuid primary key,
  staff_id      uuid not null references staff on delete cascade,
  credential_id bytea not null unique check (length(credential_id) between 1 and 1023),
  public_key    bytea not null,
  sign_count    bigint not null check (sign_count >= 0),
  transports    text[] not null,
  created_at    timestamptz not null,
  name          text check (length(name) between 1 and 100),
  last_used_on  date
);
create index passkey_staff on passkey (staff_id);
comment on table passkey is 'Passkeys of staff.';
comment on column passkey.id is 'Id of the passkey.';
comment on column passkey.staff_id is 'The staff member.';
comment on column passkey.credential_id is 'Credential id of the authenticator.';
comment on column passkey.public_key is 'Public key. The private key never leaves the authenticator.';
comment on column passkey.sign_count is 'Signature counter of the authenticator, to detect a copy.';
comment on column passkey.transports is 'How the browser reaches the authenticator, such as internal or usb.';
comment on column passkey.created_at is 'Time of registration.';
comment on column passkey.name is 'Name that the staff member gave the passkey; null without one.';
comment on column passkey.last_used_on is 'The day (UTC) of the last sign-in; null before the first one.';

create table passkey_challenge (
  id         uuid primary key,
  challenge  bytea not null check (length(challenge) = 32),
  staff_id   uuid references staff on delete cascade,
  expires_at timestamptz not null
);
create index passkey_challenge_staff on passkey_challenge (staff_id);
create index passkey_challenge_expires_at on passkey_challenge (expires_at);
comment on table passkey_challenge is 'Challenges of passkey sign-ins and registrations, each for one use.';
comment on column passkey_challenge.id is 'Id of the challenge, which the browser keeps in a cookie.';
comment on column passkey_challenge.challenge is 'Random bytes to sign.';
comment on column passkey_challenge.staff_id is 'The staff member who registers a passkey; null for a sign-in.';
comment on column passkey_challenge.expires_at is 'Time of expiry, 5 minutes after its creation.';

create table staff_link (
  id         uuid primary key,
  staff_id   uuid not null references staff on delete cascade,
  token_hash bytea not null unique check (length(token_hash) = 32),
  mailed     boolean not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  nonce      bytea constraint staff_link_nonce_is_long check (length(nonce) >= 16)
);
create index staff_link_staff on staff_link (staff_id);
create index staff_link_expires_at on staff_link (expires_at);
comment on table staff_link is 'Sign-in links of staff, each for one use.';
comment on column staff_link.id is 'Id of the link.';
comment on column staff_link.staff_id is 'The staff member.';
comment on column staff_link.token_hash is 'SHA-256 of the secret part of the link, which is not stored.';
comment on column staff_link.mailed is 'Whether the link was sent by mail. A mailed link does not work once a passkey exists.';
comment on column staff_link.created_at is 'Time of creation.';
comment on column staff_link.expires_at is 'Time of expiry, 30 minutes after its creation.';
comment on column staff_link.nonce is 'Random bytes from which, together with LICENSE_KEY_SECRET, a mailed link is derived. They are never sent; null in a printed link.';

create table staff_token (
  id         uuid primary key,
  staff_id   uuid not null references staff on delete cascade,
  token_hash bytea not null unique check (length(token_hash) = 32),
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create index staff_token_staff on staff_token (staff_id);
create index staff_token_expires_at on staff_token (expires_at);
comment on table staff_token is 'Access tokens for scripts of staff.';
comment on column staff_token.id is 'Id of the token, by which it is listed and revoked.';
comment on column staff_token.staff_id is 'The staff member, whose role the token has.';
comment on column staff_token.token_hash is 'SHA-256 of the token. The token itself is not stored.';
comment on column staff_token.created_at is 'Time of creation.';
comment on column staff_token.expires_at is 'Time of expiry, 90 days after its creation.';

-- Sessions and sign-in codes

create table session (
  id         uuid primary key,
  token_hash bytea not null unique check (length(token_hash) = 32),
  license_id uuid references license on delete cascade,
  email      text check (length(email) <= 254),
  staff_id   uuid references staff on delete cascade,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  constraint session_has_one_owner check (num_nonnulls(license_id, email, staff_id) = 1)
);
create index session_license on session (license_id) where license_id is not null;
create index session_email on session (email) where email is not null;
create index session_staff on session (staff_id) where staff_id is not null;
create index session_expires_at on session (expires_at);
comment on table session is 'Sessions of the web pages.';
comment on column session.id is 'Id of the session.';
comment on column session.token_hash is 'SHA-256 of the cookie. The cookie itself is not stored.';
comment on column session.license_id is 'The license that the session may read, after a sign-in with its key.';
comment on column session.email is 'The holder whose licenses the session may read, after a sign-in with a mailed code.';
comment on column session.staff_id is 'The staff member, in a session of the support pages.';
comment on column session.created_at is 'Time of the sign-in. The session ends at most 12 hours later.';
comment on column session.expires_at is 'Time of expiry, 29 to 30 minutes after the last request, and at most 12 hours after the sign-in.';

-- A mailed code or link is derived from LICENSE_KEY_SECRET, which is not in the database, and from an id and a nonce,
-- which are only in its row (of this table or of `staff_link`): neither the secret nor the database is enough to derive
-- it (docs/decisions/0027).
create table one_time_code (
  id         uuid primary key,
  email      text not null check (length(email) <= 254),
  tries      integer not null default 0 check (tries >= 0),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  nonce      bytea default uuid_send(gen_random_uuid())
    constraint one_time_code_nonce_is_long check (length(nonce) >= 16),
  -- A row for each hint: a request with the same hint replaces its code, until a code has been used.
  hint_hash  bytea unique check (length(hint_hash) = 32),
  constraint one_time_code_used_has_hint check (nonce is not null or hint_hash is not null)
);
create index one_time_code_email on one_time_code (email);
create index one_time_code_expires_at on one_time_code (expires_at);
comment on table one_time_code is 'Sign-in codes sent by mail, and the release hints whose code was used.';
comment on column one_time_code.id is 'Id of the code, which the browser keeps in a cookie. The code itself is not stored.';
comment on column one_time_code.email is 'E-mail address to which the code was sent.';
comment on column one_time_code.tries is 'The number of wrong codes entered.';
comment on column one_time_code.created_at is 'Time of the request.';
comment on column one_time_code.expires_at is 'Time of expiry, 10 minutes after the request.';
comment on column one_time_code.nonce is 'Random bytes from which, together with LICENSE_KEY_SECRET, the code is derived. They are never sent. Null once the code is used: the row then only shows that its hint is used.';
comment on column one_time_code.hint_hash is 'SHA-256 of the release hint with which the code was requested, so that a hint works for one sign-in. Null if the code was requested with an address.';

-- Mail

create table mail_recipient (
  mail_id uuid primary key,
  email   text not null check (length(email) <= 254),
  since   timestamptz not null
);
create index mail_recipient_since on mail_recipient (since);
comment on table mail_recipient is 'Recipients of queued mails that must go to this address, whatever other rows contain by then.';
comment on column mail_recipient.mail_id is 'Id of the queued mail.';
comment on column mail_recipient.email is 'E-mail address of the recipient.';
comment on column mail_recipient.since is 'Time since which the mail is queued.';

-- Outgoing events (docs/events.md). Triggers record an event in the statement that writes its fact, so no fact is without its
-- event, whichever program writes it (docs/decisions/0050). Only `license.limit_reached` has no trigger: `activate_machine`
-- records it.

create table event_recording (
  is_on boolean primary key default true check (is_on),
  since timestamptz not null
);
comment on table event_recording is 'Whether events are recorded: one row if they are, otherwise none.';
comment on column event_recording.is_on is 'Always true.';
comment on column event_recording.since is 'Time since which events are recorded.';

-- Returns a UUID of version 7. Older versions of PostgreSQL than 18 have no function for it.
create function event_id() returns uuid language plpgsql volatile as $$
declare
  milliseconds bytea := substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3);
  bytes        bytea := overlay(uuid_send(gen_random_uuid()) placing milliseconds from 1 for 6);
begin
  return encode(set_byte(bytes, 6, get_byte(bytes, 6) & 15 | 112), 'hex')::uuid;
end $$;

create table outgoing_event (
  -- Every writer holds the lock of the license, so the positions of the events of a license have the order of the commits.
  position        bigint primary key generated always as identity,
  id              uuid not null unique default event_id(),
  type            text not null,
  license_id      uuid,
  data            jsonb not null,
  occurred_at     timestamptz not null,
  queued_at       timestamptz not null,
  next_attempt_at timestamptz,
  attempts        integer not null default 0 check (attempts >= 0),
  last_error      text,
  delivered_at    timestamptz,
  given_up_at     timestamptz,
  constraint outgoing_event_ends_once check (delivered_at is null or given_up_at is null)
);
-- The first waiting event of each license is sent; those of no license (manifests) have an order of their own.
create index outgoing_event_waiting on outgoing_event (coalesce(license_id, '00000000-0000-0000-0000-000000000000'), position)
  where delivered_at is null and given_up_at is null;
create index outgoing_event_due on outgoing_event (next_attempt_at nulls first, position)
  where delivered_at is null and given_up_at is null;
create index outgoing_event_given_up on outgoing_event (given_up_at) where given_up_at is not null;
create index outgoing_event_license on outgoing_event (license_id, position);
create index outgoing_event_kept_from on outgoing_event ((coalesce(delivered_at, given_up_at, queued_at)));
comment on table outgoing_event is 'Events for the program of the vendor at EVENTS_URL, with ids and no other data of licenses.';
comment on column outgoing_event.position is 'The order of the events of a license.';
comment on column outgoing_event.id is 'Id of the event, the same in each attempt to send it.';
comment on column outgoing_event.type is 'What happened, such as license.issued.';
comment on column outgoing_event.license_id is 'The license; null for a manifest.';
comment on column outgoing_event.data is 'The ids that are sent: of the license and the activation with a reason word, or sequence and version of a manifest.';
comment on column outgoing_event.occurred_at is 'Time at which it happened.';
comment on column outgoing_event.queued_at is 'Time since which the event waits: that of its record, or of the last request to send it again.';
comment on column outgoing_event.next_attempt_at is 'Time from which the next attempt is made; null for the first attempt, which is made at once.';
comment on column outgoing_event.attempts is 'The number of failed attempts.';
comment on column outgoing_event.last_error is 'Why the last attempt failed; null without a failed attempt.';
comment on column outgoing_event.delivered_at is 'Time at which the receiver acknowledged the event; null before.';
comment on column outgoing_event.given_up_at is 'Time of the last attempt, after four days; null before.';

-- The lock of the license, which most callers hold already, orders its events.
create function record_event(event_type text, of_license uuid, event_data jsonb, at timestamptz) returns void
language plpgsql volatile as $$
begin
  perform 1 from license where id = of_license for no key update;
  insert into outgoing_event (type, license_id, data, occurred_at, queued_at)
  values (event_type, of_license, event_data, at, at);
end $$;
comment on function record_event is 'Records an outgoing event.';

-- A client at the limit repeats its request, so a license has at most one event a day. An event over an hour in the future was
-- recorded by a clock that was ahead. The caller holds the lock of the license.
create function record_limit_reached(of_license uuid, at timestamptz) returns void language plpgsql volatile as $$
begin
  if exists (select from event_recording) and not exists (
    select from outgoing_event where license_id = of_license and type = 'license.limit_reached'
      and occurred_at > at - interval '1 day' and occurred_at <= at + interval '1 hour'
  ) then
    perform record_event('license.limit_reached', of_license, jsonb_build_object('license_id', of_license), at);
  end if;
end $$;
comment on function record_limit_reached is 'Records the event of a refusal at the machine limit, at most once a day for each license.';

create function record_license_issue() returns trigger language plpgsql as $$
begin
  -- An imported license was created in its old system, and may have ended there. `end_changed_at` is the time of its import.
  perform record_event('license.issued', new.id, jsonb_build_object('license_id', new.id), new.end_changed_at);
  if new.ended_at is not null then
    perform record_event('license.ended', new.id, jsonb_build_object('license_id', new.id, 'reason',
      case when new.staff_status = 'revoked' then 'revoked' else 'refunded' end), new.end_changed_at);
  end if;
  return null;
end $$;
create trigger license_issue_is_an_event after insert on license
  for each row execute function record_license_issue();

-- A correction and an erasure do not always change a time of the license. The setting mooring.event_time has their time, and is
-- local to their transaction (src/licenses/event-time.ts). A statement without it happens now.
create function record_license_end() returns trigger language plpgsql as $$
declare
  ids       jsonb := jsonb_build_object('license_id', new.id);
  is_erased boolean := new.email is null and new.address_lost_at is null;
  at        timestamptz := coalesce(nullif(current_setting('mooring.event_time', true), '')::timestamptz, now());
begin
  if old.ended_at is null and new.ended_at is not null then
    perform record_event('license.ended', new.id, ids || jsonb_build_object('reason', case
      when is_erased then 'erased' when new.staff_status = 'revoked' then 'revoked' else 'refunded' end), new.ended_at);
  elsif old.ended_at is not null and new.ended_at is null then
    perform record_event('license.reinstated', new.id, ids, at);
  end if;
  if is_erased and (old.email is not null or old.address_lost_at is not null) then
    perform record_event('license.erased', new.id, ids, at);
  end if;
  return null;
end $$;
create trigger license_end_is_an_event after update on license for each row
  when ((old.ended_at is null) <> (new.ended_at is null) or (old.email is not null and new.email is null)
        or (old.address_lost_at is not null and new.address_lost_at is null))
  execute function record_license_end();

create function record_activation() returns trigger language plpgsql as $$
begin
  perform record_event('activation.created', new.license_id,
    jsonb_build_object('license_id', new.license_id, 'activation_id', new.id), new.activated_at);
  return null;
end $$;
create trigger activation_is_an_event after insert on activation
  for each row execute function record_activation();

-- The setting mooring.release_reason is local to the transaction of a retention run (src/retention/end-activations.ts).
create function record_release() returns trigger language plpgsql as $$
begin
  perform record_event('activation.released', new.license_id, jsonb_build_object(
    'license_id', new.license_id, 'activation_id', new.id, 'reason', case when new.released_by_holder then 'holder'
      else coalesce(nullif(current_setting('mooring.release_reason', true), ''), 'staff') end), new.ended_at);
  return null;
end $$;
-- A refund or an erasure ends all activations of a license, and its own event says so. An erasure removes the machine id.
create trigger release_is_an_event after update on activation for each row
  when (old.ended_at is null and new.ended_reason = 'released' and new.machine_id is not null)
  execute function record_release();

create function record_manifest() returns trigger language plpgsql as $$
begin
  perform record_event('manifest.published', null,
    jsonb_build_object('sequence', new.sequence, 'version', new.signed::jsonb ->> 'version'), new.published_at);
  return null;
end $$;
create trigger manifest_is_an_event after insert on manifest
  for each row execute function record_manifest();

-- The triggers are disabled while events are not recorded, so that they cost nothing.
create function record_events(recorded boolean, at timestamptz) returns void language plpgsql volatile as $$
declare
  of record;
begin
  for of in select tgrelid::regclass as name, tgname from pg_trigger where tgname ~ '_is_an_event$' order by tgname loop
    execute format('alter table %s %s trigger %I', of.name, case when recorded then 'enable' else 'disable' end, of.tgname);
  end loop;
  delete from event_recording where not recorded;
  insert into event_recording (since) select at where recorded on conflict do nothing;
end $$;
comment on function record_events is 'Turns the recording of events on or off. It waits for the transactions that write licenses.';
select record_events(false, now());

-- Audit trail

create table audit_event (
  id         uuid primary key,
  actor      text not null check (length(actor) between 1 and 254),
  action     text not null check (length(action) between 1 and 64),
  license_id uuid,
  reason     text check (length(reason) <= 500),
  change     jsonb not null,
  at         timestamptz not null
);
create index audit_event_license on audit_event (license_id, at);
create index audit_event_at on audit_event (at, id);
create index audit_event_actor on audit_event (actor, at, id);
create index audit_event_action on audit_event (action, at, id);
-- Without this index, a filter for an action that an actor never did reads all entries of the actor or of the action.
create index audit_event_actor_action on audit_event (actor, action, at, id);
comment on table audit_event is 'Audit trail: who did what, to what, why and when.';
comment on column audit_event.id is 'Id of the event.';
comment on column audit_event.actor is 'E-mail address of a staff member, cli, the name given to a command with --as, or retention.';
comment on column audit_event.action is 'The action, such as license.set.';
comment on column audit_event.license_id is 'The license; null if the action concerns none.';
comment on column audit_event.reason is 'Reason given for the action. E-mail addresses are refused.';
comment on column audit_event.change is 'The ids that the action concerned, the new values, and in before the values that they replaced, without personal data.';
comment on column audit_event.at is 'Time of the action.';

create trigger audit_event_is_append_only before update on audit_event
  for each row execute function refuse_change();
create trigger audit_event_is_never_emptied before truncate on audit_event
  for each statement execute function refuse_change();
-- Retention deletes events that are 24 months old. Younger ones cannot be deleted.
create trigger audit_event_stays_24_months before delete on audit_event
  for each row when (old.at > now() - interval '24 months') execute function refuse_change();

-- Erasure

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
  -- The address is stored exactly as long as the request waits.
  constraint erasure_request_forgets check ((email is null) = (honoured_at is not null or cancelled_at is not null)),
  constraint erasure_request_ends_once check (honoured_at is null or cancelled_at is null)
);
create unique index erasure_request_one_open on erasure_request (email);
create index erasure_request_honoured_at on erasure_request (honoured_at);
create index erasure_request_ended_at on erasure_request ((coalesce(honoured_at, cancelled_at)));
comment on table erasure_request is 'Erasure requests. Each must be carried out within 30 days of its receipt.';
comment on column erasure_request.id is 'Id of the request.';
comment on column erasure_request.email is 'E-mail address whose data is to be erased; null after the request was carried out or cancelled.';
comment on column erasure_request.asked_by is 'Who requested the erasure: the holder, or staff on behalf of the holder.';
comment on column erasure_request.reason is 'Reason that staff gave; null if the holder requested the erasure.';
comment on column erasure_request.received_on is 'The day (UTC) of receipt.';
comment on column erasure_request.runs_at is 'Time from which the request is carried out: at once, or 3 days after the request of a holder.';
comment on column erasure_request.honoured_at is 'Time at which the request was carried out; null if it waits or was cancelled.';
comment on column erasure_request.cancelled_at is 'Time at which the holder cancelled the request; null if it was not cancelled.';
comment on column erasure_request.erased is 'The numbers of licenses, activations and purchases concerned, and the day until which purchases are kept.';

-- After a restore from a backup, the service carries out the erasures of TOMBSTONE_FILE again (docs/decisions/0024).
create table database_identity (
  id          uuid primary key,
  incarnation text not null unique,
  since       timestamptz not null
);
comment on table database_identity is 'Identity of this database, with a row for each restored copy and each promoted standby, so that the lines of TOMBSTONE_FILE can be distinguished.';
comment on column database_identity.id is 'Id under which this database writes to TOMBSTONE_FILE.';
comment on column database_identity.incarnation is 'PostgreSQL''s system identifier, timeline and database oid, which differ in a restored copy.';
comment on column database_identity.since is 'Time at which the service or a command first used this copy.';

-- A start with another secret than that of the database is refused (docs/decisions/0042).
create table license_key_secret_check (
  is_only_row boolean primary key default true check (is_only_row),
  value       bytea not null check (octet_length(value) = 32),
  since       timestamptz not null
);
comment on table license_key_secret_check is 'Check value of LICENSE_KEY_SECRET, so that another secret is recognized.';
comment on column license_key_secret_check.is_only_row is 'Always true: the table has one row.';
comment on column license_key_secret_check.value is 'HMAC-SHA256 of a constant with the secret. The secret cannot be computed from it.';
comment on column license_key_secret_check.since is 'Time at which this secret became that of the database.';

create table repeated_erasure (
  erasure_request_id uuid primary key,
  repeated_at        timestamptz not null
);
create index repeated_erasure_repeated_at on repeated_erasure (repeated_at);
comment on table repeated_erasure is 'Erasures of TOMBSTONE_FILE that were carried out again after a restore from a backup.';
comment on column repeated_erasure.erasure_request_id is 'The erasure request, which the backup may lack.';
comment on column repeated_erasure.repeated_at is 'Time of the repetition.';

-- Retention

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
create index retention_run_finished_at on retention_run (finished_at) where finished_at is not null;
comment on table retention_run is 'Retention runs, with the number of deleted rows.';
comment on column retention_run.id is 'Id of the run.';
comment on column retention_run.as_of is 'The time that the run applied the policy for.';
comment on column retention_run.started_at is 'Time of the start.';
comment on column retention_run.finished_at is 'Time of the end; null while the run is in progress, and if it was interrupted.';
comment on column retention_run.deleted is 'The number of deleted rows by table.';
comment on column retention_run.oldest is 'The oldest remaining day by table.';
comment on column retention_run.failed is 'The names of the steps that failed, each the table of the step.';

-- PostgreSQL leaves the bytes of deleted and updated rows in the file of a table until it reuses their space. A rewritten file
-- contains only the rows that exist (docs/decisions/0025).
create table file_rewrite (
  table_name   text primary key,
  is_large     boolean not null,
  rewritten_at timestamptz not null
);
comment on table file_rewrite is 'Time of the last rewrite of the file of each table with personal data.';
comment on column file_rewrite.table_name is 'The table.';
comment on column file_rewrite.is_large is 'Whether the last retention run found the table too large for a daily rewrite.';
comment on column file_rewrite.rewritten_at is 'Start of the retention run that last rewrote the file completely; at first, the start of the run that first saw the table.';

-- TypeORM creates the table `schema_migration`. The added column shows the age of the database. If no retention run has
-- ever finished, this age shows whether a run is overdue.
alter table schema_migration add column applied_at timestamptz not null default now();
comment on table schema_migration is 'Applied migrations.';
comment on column schema_migration.id is 'Number of the row.';
comment on column schema_migration.timestamp is 'Number of the file of the migration.';
comment on column schema_migration.name is 'Name of the migration.';
comment on column schema_migration.applied_at is 'Time of application.';

-- The planner keeps samples of column values, which neither an erasure nor retention would remove. The samples would also contain ids
-- of the telemetry received before the last `analyze`.
alter table license         alter column email set statistics 0, alter column previous_key_hash set statistics 0,
                            alter column previous_key_hint set statistics 0;
alter table purchase        alter column email set statistics 0;
alter table activation      alter column machine_id set statistics 0, alter column hostname_hint set statistics 0;
alter table mail_recipient  alter column email set statistics 0;
alter table one_time_code   alter column email set statistics 0;
alter table erasure_request alter column email set statistics 0, alter column reason set statistics 0;
alter table release_request alter column reason set statistics 0;
alter table session         alter column email set statistics 0;
alter table staff           alter column email set statistics 0;
alter table passkey         alter column name set statistics 0;
alter table audit_event     alter column actor set statistics 0, alter column reason set statistics 0;
do $$
declare
  inbox text;
  name  text;
begin
  foreach inbox in array array['telemetry_inbox', 'telemetry_inbox_draining'] loop
    for name in select attname from pg_attribute where attrelid = inbox::regclass and attnum > 0 loop
      execute format('alter table %I alter column %I set statistics 0', inbox, name);
    end loop;
  end loop;
end $$;
