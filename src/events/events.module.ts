import { Module } from '@nestjs/common';
import { EventDispatcher } from './event-dispatcher.js';

/** Sends events to the vendor's program (docs/events.md). Triggers of the database record them. */
@Module({ providers: [EventDispatcher] })
export class EventsModule {}
