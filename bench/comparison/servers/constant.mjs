// The "constant" server: Fastify alone, with one route that answers a constant of the manifest's size.
import Fastify from 'fastify';

const CACHE_CONTROL = 'public, max-age=300, stale-if-error=86400';

export async function listen() {
  const body = process.env.MANIFEST_BODY;
  const etag = `"${'0'.repeat(43)}"`;
  const fastify = Fastify();
  fastify.get('/v1/manifest', (request, reply) => {
    reply.header('etag', etag).header('cache-control', CACHE_CONTROL);
    if (request.headers['if-none-match']) return void reply.code(304).send();
    void reply.type('application/json; charset=utf-8').send(body);
  });
  await fastify.listen({ port: 0, host: '127.0.0.1' });
  return fastify.server.address().port;
}
