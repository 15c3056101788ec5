// Measures the start and the memory of the service: npm run bench:start [-- --starts N] [--idle S] [--seconds S] [--write]. The
// variants start in turns on the same database, which is migrated and has 10,000 activations.
import { join } from 'node:path';
import { BUNDLE, root, ScriptError, SERVICE_FLAGS, SOURCE_MAPS } from '../../scripts/prepare.mjs';
import { readBenchOptions } from '../command.mjs';
import { prepareData } from '../load/data.mjs';
import { endProcess } from '../load/processes.mjs';
import { postgresVersion, runPageBench } from '../run.mjs';
import { MeasuredService } from './measured-service.mjs';
import { report } from './report.mjs';

const ACTIVATIONS = 10_000;
/** What is started: the modules of a checkout, and what production runs. */
const VARIANTS = {
  modules: { program: join(root, 'dist/main.js'), flags: [SOURCE_MAPS, ...SERVICE_FLAGS] },
  bundle: { program: join(root, BUNDLE, 'main.js'), flags: SERVICE_FLAGS },
};
/** What is loaded without the service, to see how small it could become. */
const FLOORS = {
  'Node alone': [],
  'Node with its modules for HTTP, TLS and cryptography': ['node:http', 'node:tls', 'node:crypto'],
  'NestJS with Fastify': ['@nestjs/common', '@nestjs/core', '@nestjs/platform-fastify'],
  'NestJS with Fastify, and TypeORM': [
    '@nestjs/common',
    '@nestjs/core',
    '@nestjs/platform-fastify',
    'typeorm',
  ],
};

const parseOptions = () => readBenchOptions({ starts: 5, idle: 30, seconds: 30 });

await runPageBench(import.meta.url, { page: 'start.md', parseOptions, measureAll, report });
async function measureAll(environment, { starts, idle, seconds }) {
  const { url, processes, progress } = environment;
  if (process.platform !== 'linux')
    throw new ScriptError('This bench reads the memory of a process from /proc, which only Linux has.');
  const data = await prepareData(environment, ACTIVATIONS);
  const service = new MeasuredService(processes, data);
  const results = Object.fromEntries(Object.keys(VARIANTS).map((name) => [name, { starts: [] }]));
  for (let start = 0; start < starts; start += 1) {
    for (const [name, variant] of Object.entries(VARIANTS))
      results[name].starts.push(await service.start(variant));
    progress(`start ${start + 1} of ${starts}`);
  }
  for (const [name, variant] of Object.entries(VARIANTS)) {
    results[name].packages = await service.countModules(variant);
    results[name].memory = await service.measureMemory(variant, { idle, seconds });
    progress(`memory of ${name}`);
  }
  return {
    version: await postgresVersion(url),
    results,
    frameworks: await measureFrameworks(environment, service, { idle, seconds }),
    floors: await measureFloors(processes),
    versions: await measureVersionCommand(processes, starts),
  };
}

/** Measures a server that only has the frameworks of the service, bundled as the service is. */
async function measureFrameworks({ processes, folder }, service, times) {
  const target = join(folder, 'frameworks');
  const program = join(root, 'bench/start/frameworks.mjs');
  await processes.runCommand([join(root, 'scripts/bundle.mjs'), target, program], {});
  return service.measureMemoryOf(join(target, 'frameworks.js'), times);
}

async function measureFloors(processes) {
  const floors = {};
  for (const [name, modules] of Object.entries(FLOORS)) {
    const args = [...SERVICE_FLAGS, join(root, 'bench/start/floor.mjs'), ...modules];
    const { child, ...memory } = await processes.startProgram(name, args, {});
    await endProcess(child);
    floors[name] = memory;
  }
  return floors;
}

/** Measures `mooring --version`, with the modules and with the bundle, and Node alone, in turns. */
async function measureVersionCommand(processes, starts) {
  const programs = {
    'Node alone': ['--eval', '0'],
    'mooring --version, modules': [join(root, 'dist/cli.js'), '--version'],
    'mooring --version, bundle': [join(root, BUNDLE, 'cli.js'), '--version'],
  };
  const times = Object.fromEntries(Object.keys(programs).map((name) => [name, []]));
  for (let start = 0; start < starts; start += 1)
    for (const [name, args] of Object.entries(programs)) {
      const began = performance.now();
      await processes.runCommand(args, {});
      times[name].push(performance.now() - began);
    }
  return times;
}
