-- What a replay of erasures after a restore needs to know: since when a license belongs to its address, which database
-- wrote a line of TOMBSTONE_FILE, and which erasures were carried out again (docs/decisions/0024).

alter table license
  add column email_since timestamptz,
  add column address_lost_at timestamptz;
comment on column license.email_since is 'Since when it belongs to this e-mail address; null where it has since it was issued. Kept with the license.';
comment on column license.address_lost_at is 'Since when its e-mail address is unknown, because a restored backup named a former holder who was erased; null where it is known or the license was erased. Kept until the address is set again.';
-- Watched by every probe of /health/ready; mostly empty.
create index license_address_lost_at on license (address_lost_at) where address_lost_at is not null;

-- Licenses that changed hands before this migration: the audit trail says when.
update license l set email_since = changed.at
from (select license_id, max(at) as at from audit_event
      where action = 'license.set' and change->>'email' = 'changed' group by license_id) changed
where changed.license_id = l.id and l.email is not null;
-- What is left of the former holder: labels and machine ids of activations that ended before, and reasons of requests.
update activation a set machine_id = null, hostname_hint = null
from license l
where l.id = a.license_id and a.ended_at <= l.email_since
  and (a.machine_id is not null or a.hostname_hint is not null);
delete from release_request r
using activation a join license l on l.id = a.license_id
where a.id = r.activation_id and r.asked_at <= l.email_since and r.decided_at is null;
update release_request r set reason = null
from activation a join license l on l.id = a.license_id
where a.id = r.activation_id and r.asked_at <= l.email_since and r.reason is not null;

create table database_identity (
  id          uuid primary key,
  incarnation text not null unique,
  since       timestamptz not null
);
comment on table  database_identity             is 'Which database this is, and of which ones it is a copy: each restored copy adds a row, so that TOMBSTONE_FILE can tell their lines apart. Kept for ever; nothing personal.';
comment on column database_identity.id          is 'The name under which it writes to TOMBSTONE_FILE. Kept for ever; nothing personal.';
comment on column database_identity.incarnation is 'PostgreSQL''s own system identifier, timeline and database number, which differ in a restored copy. Kept for ever; nothing personal.';
comment on column database_identity.since       is 'When the service first ran on it. Kept for ever; nothing personal.';

create table repeated_erasure (
  erasure_request_id uuid primary key,
  repeated_at        timestamptz not null
);
create index repeated_erasure_repeated_at on repeated_erasure (repeated_at);
comment on table  repeated_erasure                    is 'Erasures of TOMBSTONE_FILE that this database, restored from a backup, did not know of and carried out again. Kept 12 months.';
comment on column repeated_erasure.erasure_request_id is 'The deletion request, which the backup may lack. Kept 12 months.';
comment on column repeated_erasure.repeated_at        is 'When it was carried out again. Kept 12 months from then.';
