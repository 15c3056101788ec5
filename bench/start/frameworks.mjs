// A server of NestJS with Fastify that answers a constant, and loads TypeORM and pg. It shows what the frameworks take without the
// service. Bundled as the service is, it lacks the same modules, so it is created with the same options.
import 'reflect-metadata';
import { All, Controller, HttpCode, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import pg from 'pg';
import { DataSource, EntitySchema } from 'typeorm';

class ConstantController {
  answer() {
    return { is_constant: true };
  }
}
const { prototype } = ConstantController;
const method = Object.getOwnPropertyDescriptor(prototype, 'answer');
for (const decorate of [All('*'), HttpCode(200)]) decorate(prototype, 'answer', method);
Controller()(ConstantController);

const license = new EntitySchema({ name: 'license', columns: { id: { type: 'uuid', primary: true } } });
// It never connects, because the connections belong to the service.
const dataSource = new DataSource({ type: 'postgres', driver: pg, entities: [license] });
class ConstantModule {}
Module({
  controllers: [ConstantController],
  providers: [{ provide: DataSource, useValue: dataSource }],
})(ConstantModule);

const noSchemas = () => () => () => undefined;
const compilersFactory = { buildValidator: noSchemas, buildSerializer: noSchemas };
const adapter = new FastifyAdapter({ schemaController: { compilersFactory } });
const app = await NestFactory.create(ConstantModule, adapter, { logger: false });
await app.listen(0, '127.0.0.1');
process.send({ port: app.getHttpServer().address().port });
process.on('disconnect', () => process.exit(0));
