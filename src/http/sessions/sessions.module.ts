import { Global, Module } from '@nestjs/common';
import { Sessions } from './sessions.js';

/** The cookie sessions of both pages. */
@Global()
@Module({ providers: [Sessions], exports: [Sessions] })
export class SessionsModule {}
