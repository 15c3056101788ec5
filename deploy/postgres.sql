-- Creates the role and the database of the service. The image of PostgreSQL runs this file with psql when it creates its data, as
-- the superuser postgres (docker-compose.yml). The role owns one database and has no other right.
\getenv password POSTGRES_PASSWORD
create role mooring login password :'password' nosuperuser nocreatedb nocreaterole noreplication nobypassrls;
create database mooring owner mooring;
revoke all on database mooring from public;
-- Without a password, the superuser can connect only in the container: docker compose exec postgres psql --username=postgres
alter role current_user password null;
