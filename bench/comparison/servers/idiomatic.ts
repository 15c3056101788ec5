import type { AddressInfo } from 'node:net';
import { ArgumentMetadata, Catch, ExceptionFilter, Injectable, Module, PipeTransform } from '@nestjs/common';
import type { ArgumentsHost } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, NestFastifyApplication } from '@nestjs/platform-fastify';
import { TypeOrmModule } from '@nestjs/typeorm';
import { validate } from 'class-validator';
import type { FastifyReply } from 'fastify';
import { DataSource } from 'typeorm';
import { problem } from '../../../src/http/problems/problem.js';
import { ENTITIES, Manifest } from './entities.ts';
import { ActivationController, HeartbeatController } from './idiomatic-client-api.ts';
import { LicensesController } from './idiomatic-portal.ts';
import { databaseUrl, POOL_SIZE, loadVersions } from './shared.ts';

// The "idiomatic" server: NestJS controllers, repositories, entities that are found and saved, DTOs with class-validator.

/** Validates a body with class-validator, as ValidationPipe does, but without the conversion by class-transformer. */
@Injectable()
class DtoPipe implements PipeTransform {
  async transform(value: unknown, { type, metatype }: ArgumentMetadata): Promise<unknown> {
    if (type !== 'body') return value;
    const dto = Object.assign(new (metatype as new () => object)(), value);
    if ((await validate(dto, { whitelist: true })).length > 0) throw problem('invalid_request');
    return dto;
  }
}

@Catch()
class RefusalFilter implements ExceptionFilter {
  catch(error: { status?: number; code?: string }, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    void reply.code(error.status ?? 500).send({ code: error.code ?? 'internal_error' });
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: databaseUrl,
      entities: ENTITIES,
      poolSize: POOL_SIZE,
      synchronize: false,
      installExtensions: false,
    }),
    TypeOrmModule.forFeature(ENTITIES),
  ],
  controllers: [HeartbeatController, ActivationController, LicensesController],
})
class AppModule {}

export async function listen(): Promise<number> {
  const app = await NestFactory.create<NestFastifyApplication>(AppModule, new FastifyAdapter(), {
    logger: ['error'],
  });
  app.useGlobalPipes(new DtoPipe());
  app.useGlobalFilters(new RefusalFilter());
  const [manifest] = await app
    .get(DataSource)
    .manager.find(Manifest, { order: { sequence: 'desc' }, take: 1 });
  loadVersions(manifest!.signed);
  await app.listen(0, '127.0.0.1');
  return (app.getHttpServer().address() as AddressInfo).port;
}
