// npm run mutation: makes small changes to the sources and checks that a test fails for each (CONTRIBUTING.md, "Mutation").
import {
  command,
  ensureBuilt,
  ensureInstalled,
  ensureMutationInstalled,
  ensureWebBuilt,
  node24,
  step,
} from './prepare.mjs';

await command(async () => {
  await ensureInstalled();
  await ensureMutationInstalled();
  await ensureBuilt();
  await ensureWebBuilt();
  const flags = ['--disable-warning=ExperimentalWarning'];
  const { code } = await step(node24(), [...flags, 'mutation/run.mjs', ...process.argv.slice(2)]);
  return code;
});
