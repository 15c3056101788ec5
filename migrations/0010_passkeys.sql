-- How staff sign in: with a passkey, and before the first one with a link that works once.

create table passkey (
  id            uuid primary key,
  staff_id      uuid not null references staff on delete cascade,
  credential_id bytea not null unique check (length(credential_id) between 1 and 1023),
  public_key    bytea not null,
  sign_count    bigint not null check (sign_count >= 0),
  transports    text[] not null,
  created_at    timestamptz not null
);
create index passkey_staff on passkey (staff_id);
comment on table  passkey               is 'Passkeys that staff sign in with. Kept until removed, or with the person.';
comment on column passkey.id            is 'The passkey''s id here. Kept with the passkey.';
comment on column passkey.staff_id      is 'Whose it is. Kept with the passkey.';
comment on column passkey.credential_id is 'The id by which the authenticator knows it. Kept with the passkey.';
comment on column passkey.public_key    is 'Its public key; the private one never leaves the authenticator. Kept with the passkey.';
comment on column passkey.sign_count    is 'How often the authenticator says it was used, so that a copy is noticed. Kept with the passkey.';
comment on column passkey.transports    is 'How the browser reaches the authenticator, such as internal or usb. Kept with the passkey.';
comment on column passkey.created_at    is 'When it was enrolled. Kept with the passkey.';

create table staff_link (
  id         uuid primary key,
  staff_id   uuid not null references staff on delete cascade,
  token_hash bytea not null unique check (length(token_hash) = 32),
  mailed     boolean not null,
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create index staff_link_staff on staff_link (staff_id);
comment on table  staff_link            is 'Links that sign a person of the staff in once. Kept until used, or to their end and at most a day longer.';
comment on column staff_link.id         is 'The link''s id, from which a mailed one is derived. Kept with the link.';
comment on column staff_link.staff_id   is 'Whom it signs in. Kept with the link.';
comment on column staff_link.token_hash is 'SHA-256 of the link''s secret part, which is not stored. Kept with the link.';
comment on column staff_link.mailed     is 'Whether it went by mail: such a one never works once a passkey exists. Kept with the link.';
comment on column staff_link.created_at is 'When it was made. Kept with the link.';
comment on column staff_link.expires_at is 'When it ends, 30 minutes after it was made. Kept with the link.';

create table passkey_challenge (
  id         uuid primary key,
  challenge  bytea not null check (length(challenge) = 32),
  staff_id   uuid references staff on delete cascade,
  expires_at timestamptz not null
);
create index passkey_challenge_staff on passkey_challenge (staff_id);
create index passkey_challenge_expires_at on passkey_challenge (expires_at);
comment on table  passkey_challenge            is 'Random bytes for a passkey to sign, each once. Kept until answered, or to their end and at most a day longer.';
comment on column passkey_challenge.id         is 'The challenge''s id, which the browser that asked holds in a cookie. Kept with the challenge.';
comment on column passkey_challenge.challenge  is 'The random bytes. Kept with the challenge.';
comment on column passkey_challenge.staff_id   is 'Who enrols a passkey with it; null where someone signs in. Kept with the challenge.';
comment on column passkey_challenge.expires_at is 'When it ends, 5 minutes after it was made. Kept with the challenge.';
