-- A seat of a license, given in one round trip: others wait for its lock no longer than this runs.

create function take_seat(
  of_license uuid, judged_revision text, new_id uuid, machine bytea, hint text, version text, at timestamptz
) returns table (
  machines_allowed integer, machines_in_use integer, activation_id uuid, activated_at timestamptz, hostname_hint text
) language plpgsql volatile as $$
#variable_conflict use_column
begin
  -- Takers of one license wait for each other here. What follows is a statement of its own, so it sees what the lock
  -- has waited for.
  perform 1 from license where id = of_license for update;
  return query
    with seat as (
      select l.machines_allowed, a.id, a.activated_at, a.hostname_hint,
             (select count(*)::integer from activation where license_id = of_license and ended_at is null) as machines_in_use
      from license l
      left join purchase p on p.id = l.purchase_id
      left join activation a on a.license_id = l.id and a.machine_id = machine and a.ended_at is null
      where l.id = of_license and concat(l.xmin, ' ', p.xmin) = judged_revision
    ), made as (
      insert into activation (id, license_id, machine_id, hostname_hint, app_version, activated_at)
      select new_id, of_license, machine, hint, version, at
      from seat where id is null and machines_in_use < machines_allowed
      returning id, activated_at, hostname_hint
    )
    select seat.machines_allowed, seat.machines_in_use + (made.id is not null)::integer,
           coalesce(made.id, seat.id), coalesce(made.activated_at, seat.activated_at),
           coalesce(made.hostname_hint, seat.hostname_hint)
    from seat left join made on true;
end $$;
comment on function take_seat is
  'Gives a machine a seat of a license: the one it has, or a new one where one is free; activation_id is null where none is. '
  'No row where the license or its purchase is another than was judged (revision, see activation.service.ts).';
