import { isNodeNewEnough } from './core/required-node.js';

// If Node is too old, `isNodeNewEnough` prints a sentence and sets the exit code. A static import would load the service before
// that.
if (isNodeNewEnough()) void import('./server/entry.js');
