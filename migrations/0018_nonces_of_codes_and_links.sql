-- A mailed code or link is derived from LICENSE_KEY_SECRET, an id and a nonce (docs/decisions/0027). The nonce is stored
-- here alone, so neither the secret nor the database is enough to make one.

-- An instance of the version before inserts codes without a nonce; its codes then get one from the default.
alter table one_time_code add column nonce bytea not null default uuid_send(gen_random_uuid())
  constraint one_time_code_nonce_is_long check (length(nonce) >= 16);
comment on column one_time_code.nonce is 'Random bytes from which, with the server''s secret, the code is derived; sent to nobody. Kept with the code.';
comment on column one_time_code.id is 'The code''s id, which the browser that asked holds in a cookie; the code itself is not stored. Kept with the code.';

-- Null in a link that was printed, whose secret part is random by itself, and in one of the version before.
alter table staff_link add column nonce bytea
  constraint staff_link_nonce_is_long check (length(nonce) >= 16);
comment on column staff_link.nonce is 'Random bytes from which, with the server''s secret, a mailed link is derived; sent to nobody; null in a printed one. Kept with the link.';
comment on column staff_link.id is 'The link''s id. Kept with the link.';
