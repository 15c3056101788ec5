-- Who is signed in: a holder by license key, a holder by a mailed code, or a person of the staff.

create table session (
  id         uuid primary key,
  token_hash bytea not null unique check (length(token_hash) = 32),
  license_id uuid references license on delete cascade,
  email      text check (length(email) <= 254),
  staff_id   uuid references staff on delete cascade,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  -- A session is one person's, in one capacity.
  constraint session_has_one_owner check (num_nonnulls(license_id, email, staff_id) = 1)
);
create index session_license on session (license_id) where license_id is not null;
create index session_email on session (email) where email is not null;
create index session_staff on session (staff_id) where staff_id is not null;
comment on table  session            is 'Who is signed in on the web pages. Kept to its end, at most a day longer.';
comment on column session.id         is 'The session''s id. Kept with the session.';
comment on column session.token_hash is 'SHA-256 of the cookie; the cookie itself is not stored. Kept with the session.';
comment on column session.license_id is 'The one license it sees, where its key was typed. Kept with the session.';
comment on column session.email      is 'Whose licenses it sees, where a mailed code was typed. Kept with the session.';
comment on column session.staff_id   is 'Which person of the staff it is. Kept with the session.';
comment on column session.created_at is 'When it began; it ends 12 hours later at the latest. Kept with the session.';
comment on column session.expires_at is 'When it ends unless it is used: 30 minutes after its last use. Kept with the session.';

-- As of the other tables that name a person (0007): the planner keeps no sample of it.
alter table session alter column email set statistics 0;
