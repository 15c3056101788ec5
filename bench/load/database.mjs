// Connections to PostgreSQL for what a bench prepares and checks.

/** Calls `work` with a connection to a database, and closes it at the end. @returns the result of `work` */
export async function withClient(url, work) {
  // A bench imports this module before its packages are installed.
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: url });
  // On an interrupt the server ends before this connection, which is no error.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Executes a statement over a new connection. @returns its rows */
export const query = (url, sql, values) =>
  withClient(url, async (client) => (await client.query(sql, values)).rows);

/** Creates a database. @param server the URL of another database of the server @returns the URL of the new one */
export async function createDatabase(server, name) {
  await query(server, `create database ${name}`);
  return Object.assign(new URL(server), { pathname: `/${name}` }).href;
}
