import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import cookiePlugin from '@fastify/cookie';
import { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Config } from '../core/config.js';
import { stripClientAddress } from './strip-client-address.js';
import { closeConnections } from './connection-closing.js';
import { enforceDeadline } from './limits/deadline.js';
import { parseJsonOnly } from './parsing/json-body.js';
import { AppLogger } from '../core/logger.js';
import { handleMalformedRequests, refuseMalformed } from './malformed-requests.js';
import { ignoreIfMatchOfReads, redirectRelatively } from './pages.js';
import { MembersPipe } from './parsing/members.pipe.js';
import { refuseUnknownRoutes } from './unknown-routes.js';
import { RefusalWriter } from './shed-responses.js';
import { LIMITS } from './limits/load-limits.js';
import { shedLoad } from './limits/load-shedding.js';
import { ProblemFilter } from './responses/problem.filter.js';
import { compressResponses } from './responses/compress-responses.js';
import { responseRecord, logResponse, logResponses } from './responses/response-log.js';
import { RequestCounts } from './responses/request-counts.js';
import { addSecurityHeaders } from './responses/security-headers.js';

/** The largest request body of a route without a `bodyLimit` of its own (docs/contract.md#common-rules). */
const BODY_LIMIT_BYTES = 16 * 1024;

/**
 * Creates the application, for `serve` and the tests, with everything that applies to all requests: removal of the client
 * address, response log, parsing, load shedding, errors.
 */
export async function createApp(
  module: DynamicModule,
  config: Config,
  log: AppLogger,
  limits = LIMITS,
): Promise<NestFastifyApplication> {
  const requestCounts = config.metricsPort === undefined ? undefined : new RequestCounts();
  const adapter = new FastifyAdapter({
    logger: false,
    requestIdHeader: false,
    genReqId: () => randomUUID(),
    bodyLimit: BODY_LIMIT_BYTES,
    // A request may arrive slowly, because it counts as a request in progress only when it is complete.
    requestTimeout: 20_000,
    // This ends connections of clients that neither read nor send. It is longer than the 50 seconds within which Node ends a slow
    // request: `requestTimeout`, plus up to 30 seconds until Node's next check.
    connectionTimeout: 60_000,
    forceCloseConnections: 'idle',
    // During the shutdown, a request on an open connection is still answered; then the connection is closed.
    return503OnClosing: false,
    // `handleMalformedRequests` answers HTTP/1.1 requests without the header `host`, with a problem.
    http: { requireHostHeader: false },
    // A request whose URL cannot be parsed reaches no hook, so it is answered and logged here.
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      filter.answer(error, request, reply);
      logResponse(responseRecord(request, reply), log, requestCounts);
    },
    clientErrorHandler: (error: Error, socket: Socket) =>
      refuseMalformed(error, socket, config, log, requestCounts),
    skipMiddie: true,
    // Fastify would load Ajv and a serializer, two dozen modules. Requests are parsed by `MembersPipe`, and no route has a schema.
    schemaController: { compilersFactory: { buildValidator: refuseSchema, buildSerializer: refuseSchema } },
  });
  const fastify = adapter.getInstance();
  const filter = new ProblemFilter(config, log, requestCounts);
  // A new connection first loses its address. Under load its heartbeat is then refused unparsed; otherwise Node parses the request.
  // The listeners of a request run in the reverse order of these calls: prepared responses (a module adds them later, with
  // `servePrepared`), malformed requests, removal of headers, load shedding. Then Fastify's hooks run, in the order of the calls.
  const acceptQueue = shedLoad(
    fastify,
    new RefusalWriter(config, log, requestCounts),
    limits,
    requestCounts?.load,
  );
  stripClientAddress(fastify.server);
  addSecurityHeaders(fastify);
  handleMalformedRequests(fastify);
  refuseUnknownRoutes(fastify);
  fastify.decorate('requestCounts', requestCounts);
  logResponses(fastify, log, requestCounts);
  closeConnections(fastify, acceptQueue, log);
  parseJsonOnly(fastify);
  enforceDeadline(fastify);
  compressResponses(fastify);
  redirectRelatively(fastify);
  ignoreIfMatchOfReads(fastify);
  await fastify.register(cookiePlugin);
  const app = await NestFactory.create<NestFastifyApplication>(module, adapter, {
    logger: log,
    bodyParser: false,
    abortOnError: false,
  });
  app.useGlobalFilters(filter);
  app.useGlobalPipes(new MembersPipe());
  return app;
}

function refuseSchema(): never {
  throw new Error('A route has a schema for Fastify.');
}
