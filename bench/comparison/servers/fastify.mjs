import Fastify from 'fastify';
import { loadVersions } from './shared.ts';

/**
 * Starts a handwritten server: loads the published versions, and listens on a free port.
 * @param addRoutes adds the routes to the Fastify instance @returns the port
 */
export async function listenWith(pool, addRoutes) {
  const { rows } = await pool.query('select signed from manifest order by sequence desc limit 1');
  loadVersions(rows[0].signed);
  const fastify = Fastify();
  fastify.setErrorHandler((error, _request, reply) =>
    reply.code(error.status ?? 500).send({ code: error.code ?? 'internal_error' }),
  );
  addRoutes(fastify);
  await fastify.listen({ port: 0, host: '127.0.0.1' });
  return fastify.server.address().port;
}
