-- A challenge is stored when it has been used, not when it is requested (docs/decisions/0061-challenges-without-rows.md).

comment on table passkey_challenge is 'Used challenges of passkey sign-ins and registrations, so that none is used twice.';
comment on column passkey_challenge.id is 'The first half of the challenge, as a UUID of version 0.';
comment on column passkey_challenge.challenge is 'The bytes that were signed.';
comment on column passkey_challenge.expires_at is 'Time after which the row may be deleted, an hour after the challenge has expired.';
