-- What was bought, and on which machines it runs.

create table purchase (
  id             uuid primary key,
  transaction_id text not null unique check (length(transaction_id) between 1 and 200),
  email          text check (length(email) <= 254),
  state          text not null check (state in ('paid', 'disputed', 'dispute_won', 'refunded')),
  recorded_on    date not null
);
comment on table  purchase                is 'What the payment processor reported: these facts and the day, nothing else it sent.';
comment on column purchase.id             is 'Our own id of the purchase. Kept with the purchase.';
comment on column purchase.transaction_id is 'The processor''s id of the transaction, by which it knows the buyer. Kept for tax until the purchase leaves.';
comment on column purchase.email          is 'The buyer''s e-mail address. Kept until an erasure, at most as long as the purchase.';
comment on column purchase.state          is 'The highest status reported: paid, disputed, dispute_won, refunded. Kept for tax until the purchase leaves.';
comment on column purchase.recorded_on    is 'The day (UTC) of the first report. The purchase is kept for the tax period, from the end of this year.';

create table license (
  id               uuid primary key,
  key_hash         bytea not null unique check (length(key_hash) = 32),
  key_hint         text not null check (length(key_hint) = 2),
  key_generation   integer not null default 1 check (key_generation >= 1),
  email            text check (length(email) <= 254),
  staff_status     text not null default 'active' check (staff_status in ('active', 'suspended', 'revoked')),
  machines_allowed integer not null check (machines_allowed between 1 and 100000),
  expires_at       timestamptz,
  on_expiry        text not null check (on_expiry in ('keep', 'stop')),
  purchase_id      uuid unique references purchase,
  created_at       timestamptz not null
);
create index license_email on license (email);
comment on table  license                  is 'A license: kept while it is valid, and 12 months after it ended or was erased.';
comment on column license.id               is 'The license''s id. Kept with the license.';
comment on column license.key_hash         is 'SHA-256 of the license key; the key itself is not stored. Kept with the license.';
comment on column license.key_hint         is 'The last two symbols of the key, to tell two keys apart. Kept with the license.';
comment on column license.key_generation   is 'Which key derived for this license is in force; raised when a leaked key is replaced. Kept with the license.';
comment on column license.email            is 'The holder''s e-mail address, in lower case. Kept with the license, or until an erasure.';
comment on column license.staff_status     is 'What staff say of it: active, suspended or revoked; what the purchase says stands there. Kept with the license.';
comment on column license.machines_allowed is 'How many machines it may be active on at once. Kept with the license.';
comment on column license.expires_at       is 'When it expires; null for never. Kept with the license.';
comment on column license.on_expiry        is 'What expiry does: keep (runs on with the versions it covers) or stop. Kept with the license.';
comment on column license.purchase_id      is 'The purchase it came from; null where staff issued it. Kept with the license.';
comment on column license.created_at       is 'When it was issued. Kept with the license.';

create table activation (
  id            uuid primary key,
  license_id    uuid not null references license,
  machine_id    bytea check (length(machine_id) = 32),
  hostname_hint text check (length(hostname_hint) between 1 and 100),
  app_version   text not null,
  activated_at  timestamptz not null,
  ended_at      timestamptz,
  ended_reason  text check (ended_reason in ('released', 'refunded')),
  -- An end has a reason, and a reason an end.
  constraint activation_ends_with_a_reason check ((ended_at is null) = (ended_reason is null)),
  -- An active binding always knows its machine; only an erasure takes it away, after the end.
  constraint activation_active_has_machine check (machine_id is not null or ended_at is not null)
);
-- A machine holds one seat of a license, however often it asks (contract, activate).
create unique index activation_one_seat_a_machine on activation (license_id, machine_id) where ended_at is null;
create index activation_license on activation (license_id);
comment on table  activation               is 'The binding of a license to a machine: kept while it is active, and 12 months after its end.';
comment on column activation.id            is 'The binding''s id, which its license tokens name. Kept with the binding.';
comment on column activation.license_id    is 'The license it belongs to. Kept with the binding.';
comment on column activation.machine_id    is 'SHA-256 digest of the hardware UUID, made by the client; used for this binding alone. Kept with the binding, or until an erasure.';
comment on column activation.hostname_hint is 'The label the holder typed when activating; null where none. Kept with the binding, or until an erasure.';
comment on column activation.app_version   is 'The application version that activated. Kept with the binding.';
comment on column activation.activated_at  is 'When the binding was made. Kept with the binding.';
comment on column activation.ended_at      is 'When it ended; null while active. It is kept 12 months from then.';
comment on column activation.ended_reason  is 'How it ended: released or refunded; null while active. Kept with the binding.';

comment on table  schema_migration           is 'Which migrations this database has had.';
comment on column schema_migration.id        is 'A number of its own. Kept for ever; nothing personal.';
comment on column schema_migration.timestamp is 'The number of the migration''s file. Kept for ever; nothing personal.';
comment on column schema_migration.name      is 'The name of the migration. Kept for ever; nothing personal.';
