import { isNodeNewEnough } from './core/required-node.js';

// A static import would load the service before the version of Node is checked.
if (isNodeNewEnough()) void import('./server/entry.js');
