import { ViewTitle } from '../parts/view-title.js';
import { messages } from '../messages.js';
import { Manifests } from './manifests.js';
import { Retention } from './retention.js';

/** How the service itself does: what it publishes, and what it deletes. */
export function ServiceView() {
  return (
    <div class="flow">
      <ViewTitle>{messages.service.title}</ViewTitle>
      <Manifests />
      <Retention />
    </div>
  );
}
