// The command npm run conformance: reads its arguments, prints the results and sets the exit code.
import { runChecks } from './check.ts';
import { CONTRACT } from './contract.ts';
import { Deployment } from './deployment.ts';
import { NoAnswer } from './http.ts';
import { HELP, NOTICE, readOptions, UsageError, type Options } from './options.ts';
import { countResults, table } from './table.ts';

try {
  const options = readOptions(process.argv.slice(2));
  if (options) process.exitCode = await run(options);
  else console.log(HELP);
} catch (error) {
  if (!(error instanceof UsageError || error instanceof NoAnswer)) throw error;
  console.error(error instanceof UsageError ? `${error.message} --help lists the options.` : error.message);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}

async function run({ url, license, json }: Options): Promise<number> {
  const service = new Deployment(url, license);
  // Throws NoAnswer if no service answers. The header checks read this answer too.
  await service.ask('GET', '/health/live');
  console.error(`${NOTICE}\n`);
  const results = await runChecks(service, CONTRACT);
  const count = countResults(results);
  console.log(json ? JSON.stringify({ url, ...count, checks: results }) : table(url, results));
  return count.fails > 0 ? 1 : 0;
}
