-- A database also knows its LICENSE_KEY_PREFIX. The next start stores it if it derives most of the keys of the 100 licenses with
-- the highest ids, or if there is no license.

alter table license_key_secret_check add column prefix text;
comment on column license_key_secret_check.prefix is 'LICENSE_KEY_PREFIX, with which the license keys of this database begin; null until a start has stored it.';
