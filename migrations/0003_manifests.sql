-- What was published: one row a manifest, never changed.

create table manifest (
  sequence     bigint primary key check (sequence >= 1),
  signed       text not null unique,
  signatures   jsonb not null,
  published_at timestamptz not null
);
comment on table  manifest              is 'Published update manifests. Kept for ever; nothing personal.';
comment on column manifest.sequence     is 'The manifest''s number; the highest is live. Kept for ever; nothing personal.';
comment on column manifest.signed       is 'The signed bytes, as they travel. Kept for ever; nothing personal.';
comment on column manifest.signatures   is 'The signatures over these bytes, each with its key_id. Kept for ever; nothing personal.';
comment on column manifest.published_at is 'When it was published. Kept for ever; nothing personal.';

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name;
end $$;

create trigger manifest_is_append_only before update or delete on manifest
  for each row execute function refuse_change();
create trigger manifest_is_never_emptied before truncate on manifest
  for each statement execute function refuse_change();
