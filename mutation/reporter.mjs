// Writes the result of each mutant to a file at once, so that an interrupted run keeps its results.
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { commonTokens, declareFactoryPlugin, PluginKind, tokens } from '@stryker-mutator/api/plugin';

const create = ({ mooring: { verdicts } }) => {
  mkdirSync(dirname(verdicts), { recursive: true });
  writeFileSync(verdicts, '');
  return {
    onMutantTested({ fileName, mutatorName, replacement, location, status, static: isStatic, killedBy }) {
      const verdict = { status, fileName, mutatorName, replacement, location, isStatic, killedBy };
      appendFileSync(verdicts, `${JSON.stringify(verdict)}\n`);
    },
  };
};
create.inject = tokens(commonTokens.options);

export const strykerPlugins = [declareFactoryPlugin(PluginKind.Reporter, 'mooring', create)];
