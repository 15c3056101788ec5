// Kinds of mutants that are ignored, each with its reason. Single mutants are listed in survivors.json.
import { declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin';

const LOG_METHODS = new Set(['debug', 'info', 'warn', 'error', 'fatal', 'warning', 'failed', 'fatalError']);

const isText = ({ node }) => node.type === 'StringLiteral' || node.type === 'TemplateLiteral';
const isPartOfText = ({ node }) =>
  isText({ node }) || node.type === 'BinaryExpression' || node.type === 'ConditionalExpression';

/** @returns the whole expression that contains a text, such as the concatenation of two texts */
function wholeExpression(path) {
  let outer = path;
  while (outer.parentPath && isPartOfText(outer.parentPath)) outer = outer.parentPath;
  return outer;
}

const nameOf = (callee) => callee.name ?? callee.property?.name ?? callee.property?.id?.name ?? '';

export const strykerPlugins = [
  declareValuePlugin(PluginKind.Ignore, 'texts', {
    shouldIgnore(path) {
      if (!isText(path)) return undefined;
      const outer = wholeExpression(path);
      const { parent } = outer;
      if (!['NewExpression', 'CallExpression', 'OptionalCallExpression'].includes(parent?.type))
        return undefined;
      if (!parent.arguments.includes(outer.node)) return undefined;
      if (parent.type === 'NewExpression')
        return /(Error|Exception|Failure)$/.test(nameOf(parent.callee))
          ? 'The text of an error is for people; tests check the kind of error.'
          : undefined;
      return LOG_METHODS.has(nameOf(parent.callee)) && /log/i.test(nameOf(parent.callee.object ?? {}))
        ? 'The text of a log line is for people; tests check that it is logged, and its members.'
        : undefined;
    },
  }),
];
