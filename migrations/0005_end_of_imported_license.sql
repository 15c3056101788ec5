-- An imported license may be both refunded and revoked. The reason of its end is then that of its status, which is `refunded`.

create or replace function record_license_issue() returns trigger language plpgsql as $$
begin
  -- An imported license was created in its old system, and may have ended there. `end_changed_at` is the time of its import.
  perform record_event('license.issued', new.id, jsonb_build_object('license_id', new.id), new.end_changed_at);
  if new.ended_at is not null then
    perform record_event('license.ended', new.id, jsonb_build_object('license_id', new.id, 'reason', case
      when exists (select from purchase where id = new.purchase_id and state = 'refunded') then 'refunded'
      else 'revoked' end), new.end_changed_at);
  end if;
  return null;
end $$;
