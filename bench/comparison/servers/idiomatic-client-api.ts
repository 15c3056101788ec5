// Activation and heartbeat of the server "idiomatic" (idiomatic.ts), as in the guides of NestJS and TypeORM.
import { Body, Controller, HttpCode, Post, Res } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import {
  Allow,
  IsEmail,
  IsHexadecimal,
  IsOptional,
  IsString,
  Length,
  Matches,
  MaxLength,
} from 'class-validator';
import type { FastifyReply } from 'fastify';
import { DataSource, IsNull, Repository } from 'typeorm';
import { v4 as uuidv4, v7 as uuidv7 } from 'uuid';
import { hostnameHintField } from '../../../src/fields/hostname-hint.js';
import { rfc3339, utcDay } from '../../../src/core/clock.js';
import { Invalid } from '../../../src/core/field.js';
import { problem } from '../../../src/http/problems/problem.js';
import { readTelemetry, TELEMETRY_NAMES } from '../../../src/telemetry/telemetry.fields.js';
import { licenseKeyHash } from '../../../src/keys/license-key.js';
import { readLicenseKey } from '../../../src/keys/license-key-text.js';
import { machineDigest } from '../../../src/keys/tokens/license-token.js';
import { canonicalEmail } from '../../../src/fields/email.js';
import { Activation, License, Telemetry } from './entities.ts';
import { tokenResponseFor, verifyToken, checkLicense } from './shared.ts';

const VERSION = /^\d{1,9}(\.\d{1,9}){0,3}$/;

class HeartbeatDto {
  @IsString() @MaxLength(2048) token!: string;
  @IsString() @Matches(VERSION) app_version!: string;
  @Allow() telemetry?: Record<string, unknown>;
}

class ActivateDto {
  @IsString() license_key!: string;
  @IsEmail() email!: string;
  @IsHexadecimal() @Length(64, 64) machine_id!: string;
  @IsOptional() @IsString() @MaxLength(100) hostname_hint?: string;
  @IsString() @Matches(VERSION) app_version!: string;
}

const toLicenseState = (license: License) => ({
  ...license,
  purchase_state: license.purchase?.state ?? null,
});

@Controller('v1/heartbeat')
export class HeartbeatController {
  constructor(
    @InjectRepository(Activation) private readonly activations: Repository<Activation>,
    @InjectRepository(Telemetry) private readonly telemetry: Repository<Telemetry>,
  ) {}

  @Post()
  @HttpCode(200)
  async heartbeat(@Body() { token, app_version, telemetry }: HeartbeatDto) {
    const claims = verifyToken(token);
    const now = new Date();
    const relations = { license: { purchase: true } };
    const activation = await this.activations.findOne({ where: { id: claims.sub }, relations });
    if (!activation) throw problem('token_invalid');
    const { license } = activation;
    checkLicense(toLicenseState(license), app_version, now, activation.ended_at);
    const { expires_at } = license;
    const answer = tokenResponseFor(
      { activation_id: activation.id, license_id: license.id, machine: claims.mch, expires_at },
      now,
    );
    if (telemetry === undefined) return answer;
    const { values, dropped } = readTelemetry(telemetry);
    const members = Object.fromEntries(TELEMETRY_NAMES.map((name, index) => [name, values[index]]));
    await this.telemetry.save({ id: uuidv4(), received_on: utcDay(now), ...members });
    return { ...answer, telemetry: { stored: true, dropped } };
  }
}

@Controller('v1/activate')
export class ActivationController {
  constructor(private readonly dataSource: DataSource) {}

  @Post()
  async activate(@Body() request: ActivateDto, @Res({ passthrough: true }) reply: FastifyReply) {
    const key = readLicenseKey(request.license_key);
    const email = canonicalEmail(request.email);
    const hostname_hint = hostnameHintField.parse(request.hostname_hint);
    if (!key || !email || hostname_hint instanceof Invalid) throw problem('invalid_request');
    const now = new Date();
    const machine_id = Buffer.from(request.machine_id, 'hex');
    const { license, activation, count, created } = await this.dataSource.transaction(async (manager) => {
      const license = await manager.findOne(License, {
        where: { key_hash: licenseKeyHash(key), email },
        relations: { purchase: true },
        lock: { mode: 'pessimistic_write', tables: ['license'] },
      });
      if (!license) throw problem('license_not_found');
      checkLicense(toLicenseState(license), request.app_version, now);
      const active = { license: { id: license.id }, ended_at: IsNull() };
      const existing = await manager.findOne(Activation, { where: { ...active, machine_id } });
      const count = await manager.count(Activation, { where: active });
      if (existing) return { license, activation: existing, count, created: false };
      if (count >= license.machines_allowed) throw problem('machine_limit_reached', {});
      const activation = manager.create(Activation, {
        id: uuidv7(),
        license,
        machine_id,
        hostname_hint,
        app_version: request.app_version,
        activated_at: now,
        released_by_holder: false,
      });
      await manager.save(activation);
      return { license, activation, count: count + 1, created: true };
    });
    reply.status(created ? 201 : 200);
    const { expires_at, machines_allowed } = license;
    const machine = machineDigest(machine_id);
    const tokenData = { activation_id: activation.id, license_id: license.id, machine, expires_at };
    const { license: shown, ...answer } = tokenResponseFor(tokenData, now);
    const { id } = activation;
    return {
      ...answer,
      activation: {
        id,
        activated_at: rfc3339(activation.activated_at),
        hostname_hint: activation.hostname_hint,
      },
      license: { ...shown, machines_allowed, machines_in_use: count },
    };
  }
}
