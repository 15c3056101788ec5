import { Global, Module } from '@nestjs/common';
import { Sessions } from './sessions.js';

/** The cookie sessions of portal and support pages. */
@Global()
@Module({ providers: [Sessions], exports: [Sessions] })
export class SessionsModule {}
