import { ViewTitle } from '../parts/view-title.js';
import { messages } from '../messages.js';
import { Manifests } from './manifests.js';
import { Retention } from './retention.js';
import { ServiceStatus } from './service-status.js';

/** The state of the service: its warnings and mails, what it publishes, and what it deletes. */
export function ServiceView() {
  return (
    <div class="flow">
      <ViewTitle>{messages.service.title}</ViewTitle>
      <ServiceStatus />
      <Manifests />
      <Retention />
    </div>
  );
}
