-- An index on the signed bytes themselves holds 2,704 of them, compressed: a manifest with some thirty older versions no
-- longer fitted, and nothing more could be published. Its sequence stands in it, and that is unique.
alter table manifest drop constraint manifest_signed_key;
