import type { Command } from 'commander';
import type { PurchaseState } from '../../licenses/license.rules.js';
import { transactionIdField } from '../../fields/transaction-id.js';
import { PURCHASE_STATES } from '../../purchases/purchase.rules.js';
import { createPurchasesService, withDatabase } from '../context/command-context.js';
import { choiceOption, emailAddress, fieldOption } from '../terminal/options.js';
import { auditContextOf, aligned, print, UsageError } from '../terminal/output.js';

interface RecordOptions {
  readonly transaction: string;
  readonly email?: string;
  readonly status: PurchaseState;
}

/** Adds the commands of `purchase`. */
export function purchaseCommands(purchase: Command): void {
  purchase
    .command('record')
    .description('record the status of a purchase by hand, with the effect of a report to POST /v1/purchases')
    .requiredOption(
      '--transaction <id>',
      "the payment processor's id of the purchase",
      fieldOption('--transaction', transactionIdField.parse),
    )
    .addOption(
      choiceOption(
        '--status <status>',
        'what happened to the payment',
        PURCHASE_STATES,
      ).makeOptionMandatory(),
    )
    .option(
      '--email <address>',
      'the e-mail address of the buyer; required with paid',
      emailAddress('--email'),
    )
    .action(record);
}

async function record({ transaction, email, status }: RecordOptions, command: Command): Promise<void> {
  if (status === 'paid' && email === undefined)
    throw new UsageError('--email is required with --status paid.');
  const recorded = await withDatabase(async (context) => {
    const purchases = await createPurchasesService(context);
    return purchases.record({ transaction_id: transaction, email, status }, auditContextOf(command));
  });
  const text = aligned([
    ['Transaction', transaction],
    ['State', recorded.state],
    ['License', recorded.license_ids.join(', ') || 'none'],
  ]);
  print(command, { transaction_id: transaction, ...recorded }, text);
}
