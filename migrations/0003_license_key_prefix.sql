-- A database also knows its LICENSE_KEY_PREFIX. The next start stores the check value again, with the prefix, after it has derived a
-- license key of this database with both.

delete from license_key_secret_check;
alter table license_key_secret_check add column prefix text not null;
comment on column license_key_secret_check.prefix is 'LICENSE_KEY_PREFIX, with which the license keys of this database begin.';
