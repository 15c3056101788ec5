import type { Command } from 'commander';
import { toActivationView } from '../../activation/license-overview.js';
import { ReleaseService } from '../../releases/release.service.js';
import { withDatabase } from '../context/command-context.js';
import { activationsText } from './license.js';
import { reason, rowId } from '../terminal/options.js';
import { auditContextOf, explainNotFound, print, withIdName } from '../terminal/output.js';

/** Adds the commands of `activation`. */
export function activationCommands(activation: Command): void {
  activation
    .command('release')
    .argument('<id>', "the activation's id, as `license show` prints it", rowId)
    .description('release a machine, so that the license can be activated on another one')
    .requiredOption('--reason <text>', 'why, for the audit trail, without names', reason)
    .action(async (id: string, options: { reason: string }, command: Command) => {
      const audit = auditContextOf(command, options.reason);
      const released = withDatabase(({ dataSource, clock, config }) =>
        new ReleaseService(dataSource, clock, config).release(id, audit),
      );
      const { activation, was_active } = await explainNotFound(
        released,
        'No activation has this id: `mooring license show` prints the ids.',
      );
      const view = toActivationView(activation);
      const unchanged = was_active ? '' : '\nIt had ended before, so nothing was changed.';
      print(command, { ...withIdName('activation', view), was_active }, activationsText([view]) + unchanged);
    });
}
