-- Two inboxes, which change names at night: a rename takes no time, whatever has come since midnight, and the one that
-- moves then has nobody who stores into it. Nobody waits for the move, and its file goes whole.
create table telemetry_moving (like telemetry_inbox including all);

-- Nothing is remembered of it for the planner either (0007).
do $$
declare
  name text;
begin
  for name in select attname from pg_attribute where attrelid = 'telemetry_moving'::regclass and attnum > 0 loop
    execute format('alter table telemetry_moving alter column %I set statistics 0', name);
  end loop;
end $$;

-- Of both the same, for each is the other by turns.
comment on table telemetry_inbox  is 'Telemetry received today, until the night; then for as long as it moves.';
comment on table telemetry_moving is 'Telemetry received today, until the night; then for as long as it moves.';

create view telemetry_waiting as
  select received_on from telemetry_inbox union all select received_on from telemetry_moving;
comment on view telemetry_waiting is 'What has not moved to telemetry yet.';
comment on column telemetry_waiting.received_on is 'The day (UTC) it was received. Moves to telemetry after midnight UTC.';
