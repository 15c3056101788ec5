import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export interface Import {
  /** The module as the import names it. */
  readonly from: string;
  /** The path of the module in the folder that is read, without extension; undefined for a package or a module of Node. */
  readonly file: string | undefined;
  /** The imported local names; empty for an import for side effects, an `export … from` and a dynamic import. */
  readonly names: readonly string[];
  /** Those of `names` that are imported as types only and do not exist at run time. */
  readonly types: readonly string[];
}

export interface SourceFile {
  /** The path in the folder that is read (mostly src), such as `http/create-app.ts`. */
  readonly path: string;
  /** The first folder of the path, such as `http`; for a file without one its name, such as `main`. */
  readonly folder: string;
  readonly text: string;
  readonly imports: readonly Import[];
  readonly tree: ts.SourceFile;
}

/** Parses a text as if it were the file at this path in a folder that is read. */
export function parse(path: string, text: string): SourceFile {
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const declared = tree.statements
    .filter((each) => ts.isImportDeclaration(each) || ts.isExportDeclaration(each))
    .filter((each) => each.moduleSpecifier !== undefined)
    .map((each) => importOf(path, each));
  // `await import('./x.js')` is a dependency too, although the module is loaded later.
  const dynamicImports = [...text.matchAll(/\bimport\('([^']+)'\)/g)].map(([, from]) => ({
    from: from!,
    file: fileOf(path, from!),
    names: [],
    types: [],
  }));
  const imports = [...declared, ...dynamicImports];
  return { path, folder: folderOf(path), text, imports, tree };
}

/** Reads all TypeScript files below a folder of the repository, sorted by their paths, which are relative to the folder. */
export const readSources = (folder: string): SourceFile[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path) && !/^(dist|node_modules)\//.test(path))
    .toSorted()
    .map((path) => parse(path, readFileSync(join(ROOT, folder, path), 'utf8')));

/** All TypeScript files below src. */
export const sources: readonly SourceFile[] = readSources('src');

/** The first folder of a path; for a file without one its name without extension. */
export function folderOf(path: string): string {
  return path.split('/')[0]!.replace(/\.ts$/, '');
}

function fileOf(path: string, from: string): string | undefined {
  return from.startsWith('.') ? join(dirname(path), from).replace(/\.[jt]s$/, '') : undefined;
}

function importOf(path: string, declaration: ts.ImportDeclaration | ts.ExportDeclaration): Import {
  const from = (declaration.moduleSpecifier as ts.StringLiteral).text;
  const file = fileOf(path, from);
  if (ts.isExportDeclaration(declaration)) return { from, file, names: [], types: [] };
  const clause = declaration.importClause;
  const bindings = clause?.namedBindings;
  const elements = bindings && ts.isNamedImports(bindings) ? bindings.elements : [];
  const names = [
    ...(clause?.name ? [clause.name.text] : []),
    ...(bindings && ts.isNamespaceImport(bindings) ? [bindings.name.text] : []),
    ...elements.map(({ name }) => name.text),
  ];
  const isTypeOnlyImport = clause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
  const types = isTypeOnlyImport
    ? names
    : elements.filter(({ isTypeOnly }) => isTypeOnly).map(({ name }) => name.text);
  return { from, file, names, types };
}

/** Every node of a file, depth first. */
export function* nodesOf(node: ts.Node): Generator<ts.Node> {
  yield node;
  for (const child of node.getChildren()) yield* nodesOf(child);
}

/** The first cycle in a graph, with its first node repeated at its end; undefined if there is none. */
export function cycleIn(graph: ReadonlyMap<string, ReadonlySet<string>>): string[] | undefined {
  const done = new Set<string>();
  const visit = (node: string, ancestors: string[]): string[] | undefined => {
    if (ancestors.includes(node)) return [...ancestors.slice(ancestors.indexOf(node)), node];
    if (done.has(node)) return undefined;
    for (const next of graph.get(node) ?? []) {
      const cycle = visit(next, [...ancestors, node]);
      if (cycle) return cycle;
    }
    done.add(node);
    return undefined;
  };
  for (const node of graph.keys()) {
    const cycle = visit(node, []);
    if (cycle) return cycle;
  }
  return undefined;
}
