-- What a machine that activated before a change of its license has stored: the key and the address of that day. It may
-- activate again with them on the binding it has (docs/decisions/0028).

create table replaced_key (
  license_id  uuid not null references license on delete cascade,
  key_hash    bytea not null check (length(key_hash) = 32),
  replaced_at timestamptz not null,
  primary key (license_id, key_hash)
);
comment on table  replaced_key             is 'License keys that were replaced by new ones: machines that activated with them recognise themselves by them. Kept with the license.';
comment on column replaced_key.license_id  is 'The license whose key it was. Kept with the license.';
comment on column replaced_key.key_hash    is 'SHA-256 of the license key; the key itself is not stored. Kept with the license.';
comment on column replaced_key.replaced_at is 'When a new key took its place, never before an activation that was made with it. Kept with the license.';

-- Whether a machine holds an active binding of any license.
create index activation_active_machine on activation (machine_id) where ended_at is null;
