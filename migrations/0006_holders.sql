-- What holders ask for: to sign in by mail, and to have a machine released.

create table one_time_code (
  id         uuid primary key,
  email      text not null check (length(email) <= 254),
  tries      integer not null default 0 check (tries >= 0),
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create index one_time_code_email on one_time_code (email);
comment on table  one_time_code            is 'Codes that were asked for to sign in by mail. Kept to their expiry, at most a day longer.';
comment on column one_time_code.id         is 'The code''s id, from which the code is derived; the code itself is not stored. Kept with the code.';
comment on column one_time_code.email      is 'The e-mail address it goes to. Kept with the code.';
comment on column one_time_code.tries      is 'How often a wrong code was typed for it. Kept with the code.';
comment on column one_time_code.created_at is 'When it was asked for. Kept with the code.';
comment on column one_time_code.expires_at is 'When it ends, 10 minutes after it was asked for. Kept with the code.';

create table release_request (
  id            uuid primary key,
  activation_id uuid not null references activation on delete cascade,
  reason        text check (length(reason) <= 500),
  asked_at      timestamptz not null,
  decided_at    timestamptz,
  decision      text check (decision in ('release', 'decline')),
  -- A decision has a time, and a time a decision.
  constraint release_request_decided_at_a_time check ((decided_at is null) = (decision is null))
);
-- Asking twice asks once (contract, release-request).
create unique index release_request_one_open_a_binding on release_request (activation_id) where decided_at is null;
create index release_request_activation on release_request (activation_id);
comment on table  release_request               is 'Holders'' requests to release a machine. Kept with the binding, or until an erasure.';
comment on column release_request.id            is 'The request''s id. Kept with the request.';
comment on column release_request.activation_id is 'The binding it is about. Kept with the request.';
comment on column release_request.reason        is 'Why, in the holder''s words; null where none was given. Kept with the request.';
comment on column release_request.asked_at      is 'When it was asked. Kept with the request.';
comment on column release_request.decided_at    is 'When staff decided; null while it waits. Kept with the request.';
comment on column release_request.decision      is 'What staff decided: release or decline; null while it waits. Kept with the request.';
