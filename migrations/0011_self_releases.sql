-- Releases that holders make alone, of which a license has so many a year.

alter table activation add column released_by_holder boolean not null default false;
comment on column activation.released_by_holder is 'Whether its holder ended it without support, which is counted for 365 days. Kept with the binding.';
alter table activation add constraint activation_released_by_holder_is_released
  check (not released_by_holder or ended_reason = 'released');
