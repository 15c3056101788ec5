#!/usr/bin/env node
import { isNodeNewEnough } from './core/required-node.js';

// A static import would load the commands before the version of Node is checked.
if (isNodeNewEnough()) void import('./cli/entry.js');
