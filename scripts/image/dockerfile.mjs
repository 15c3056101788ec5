// Reads a Dockerfile and a .dockerignore, as far as the files of this repository use them.

/**
 * Parses a Dockerfile.
 * @returns the stages in their order: `base` (a name of an image or of a stage), `name`, and `steps` as `{ instruction, value }`
 * @throws Error for an instruction that this repository does not use
 */
export function parseDockerfile(text) {
  const lines = text
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim());
  const args = new Map();
  const stages = [];
  const expand = (value) => value.replaceAll(/\$\{(\w+)\}/g, (_, name) => args.get(name));
  for (const line of lines) {
    const [, instruction, value] = /^([A-Z]+) +(.+)$/.exec(line) ?? [];
    if (instruction === 'ARG' && stages.length === 0) args.set(...value.split('='));
    else if (instruction === 'FROM') {
      const [base, , name] = expand(value).split(/ +/);
      stages.push({ base, name, steps: [] });
    } else if (/^(?:CMD|COPY|ENV|EXPOSE|HEALTHCHECK|RUN|USER|WORKDIR)$/.test(instruction))
      stages.at(-1).steps.push({ instruction, value });
    else throw new Error(`This line of the Dockerfile is not understood: ${line}`);
  }
  return stages;
}

/** Parses the value of COPY. @returns the stage from which it copies (undefined: the build context), the sources and the target */
export function parseCopy(value) {
  const [, stage, paths] = /^(?:--from=(\S+) +)?(.+)$/.exec(value);
  const parts = paths.split(/ +/);
  return { stage, sources: parts.slice(0, -1), target: parts.at(-1) };
}

/**
 * Returns the function that says whether a .dockerignore leaves a path in the build context: the last pattern that matches decides.
 */
export function buildContext(dockerignore) {
  const patterns = dockerignore.split('\n').filter((line) => line && !line.startsWith('#'));
  const matches = (pattern, path) => pattern === '*' || path === pattern || path.startsWith(`${pattern}/`);
  return (path) => {
    const last = patterns.findLast((line) => matches(line.replace(/^!/, ''), path));
    return last === undefined || last.startsWith('!');
  };
}
