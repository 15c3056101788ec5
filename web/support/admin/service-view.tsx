import { ViewTitle } from '../parts/view-title.js';
import { words } from '../words.js';
import { Manifests } from './manifests.js';
import { Retention } from './retention.js';

/** How the service itself does: what it publishes, and what it deletes. */
export function ServiceView() {
  return (
    <div class="flow">
      <ViewTitle>{words.service.title}</ViewTitle>
      <Manifests />
      <Retention />
    </div>
  );
}
