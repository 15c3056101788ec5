-- When the file of each table with personal data was last rewritten. PostgreSQL leaves the bytes of deleted and updated
-- rows in a file until it reuses their space; a rewritten file holds only the rows that exist (docs/decisions/0025).

create table file_rewrite (
  table_name   text primary key,
  is_large     boolean not null,
  rewritten_at timestamptz not null
);
comment on table  file_rewrite              is 'When the file of each table with personal data was last rewritten. Kept for ever, one row per table; nothing personal.';
comment on column file_rewrite.table_name   is 'The table. Kept for ever.';
comment on column file_rewrite.is_large     is 'Whether the last retention run found the table too large to be rewritten each day. Kept for ever.';
comment on column file_rewrite.rewritten_at is 'When the last complete rewrite began; at first, when a retention run first saw the table. Kept until the next rewrite.';
