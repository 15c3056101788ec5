import { Global, Module } from '@nestjs/common';
import { Sessions } from './sessions.js';

/** Provides the sessions of the portal and the support page. */
@Global()
@Module({ providers: [Sessions], exports: [Sessions] })
export class SessionsModule {}
