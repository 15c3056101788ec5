-- Who may act for the vendor, and what was done.

create table staff (
  id         uuid primary key,
  email      text not null unique check (length(email) <= 254),
  role       text not null check (role in ('support', 'admin')),
  created_at timestamptz not null
);
comment on table  staff            is 'People of the vendor. Kept until removed.';
comment on column staff.id         is 'The person''s id. Kept until removed.';
comment on column staff.email      is 'The person''s e-mail address, which names them in the audit trail. Kept until removed.';
comment on column staff.role       is 'support reads and releases; admin may do everything. Kept until removed.';
comment on column staff.created_at is 'When the person was added. Kept until removed.';

create table staff_token (
  id         uuid primary key,
  staff_id   uuid not null references staff on delete cascade,
  token_hash bytea not null unique check (length(token_hash) = 32),
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create index staff_token_staff on staff_token (staff_id);
comment on table  staff_token            is 'Bearer tokens for scripts. Kept to their expiry or revocation, at most a day longer.';
comment on column staff_token.id         is 'The token''s id, by which it is listed and revoked. Kept with the token.';
comment on column staff_token.staff_id   is 'Whose token it is: it has that person''s role. Kept with the token.';
comment on column staff_token.token_hash is 'SHA-256 of the token; the token itself is not stored. Kept with the token.';
comment on column staff_token.created_at is 'When it was made. Kept with the token.';
comment on column staff_token.expires_at is 'When it ends, 90 days after it was made. Kept with the token.';

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
create index audit_event_at on audit_event (at);
comment on table  audit_event            is 'Who of the vendor did what, to which license, why and when. Kept 24 months.';
comment on column audit_event.id         is 'The entry''s id. Kept 24 months.';
comment on column audit_event.actor      is 'Staff e-mail address, or cli. Kept 24 months.';
comment on column audit_event.action     is 'What was done. Kept 24 months.';
comment on column audit_event.license_id is 'To which license; null where to none. Kept 24 months.';
comment on column audit_event.reason     is 'Why, in the words of who did it; no e-mail address is accepted. Kept 24 months.';
comment on column audit_event.change     is 'What exactly: the ids it was done to and the new values, nothing personal. Kept 24 months.';
comment on column audit_event.at         is 'When. Kept 24 months from then.';

create trigger audit_event_is_append_only before update on audit_event
  for each row execute function refuse_change();
create trigger audit_event_is_never_emptied before truncate on audit_event
  for each statement execute function refuse_change();
-- Retention may take an entry that is 24 months old; nobody may take a younger one.
create trigger audit_event_stays_24_months before delete on audit_event
  for each row when (old.at > now() - interval '24 months') execute function refuse_change();
