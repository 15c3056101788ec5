// npm run mutation: changes the sources in small ways, and sees whether a test notices (CONTRIBUTING.md, "Mutation").
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
