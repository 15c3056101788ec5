import { formatBytes, formatCount, formatTime, describeMachine, sum, table } from '../measure.mjs';

/** Makes the page of results. */
export function report({ version, systems }, { rows, killRows, seed }) {
  return `# License import

${describeMachine(version)}

\`npm run bench:import -- --rows ${rows} --kill-rows ${killRows} --seed ${seed}\` makes the exports from the
seed in the formats that the systems document ([license import](../../docs/operations/license-import.md)).

## One run

${table([
  ['export', 'rows', 'file', 'time', 'rows a minute', 'peak memory', 'mails queued'],
  ...systems.map(({ system, once }) => [
    system,
    formatCount(once.rows),
    formatBytes(once.bytes),
    formatTime(once.ms),
    formatCount((once.rows / once.ms) * 60_000),
    formatBytes(once.peakMemory),
    formatCount(once.report.mails),
  ]),
])}

The time includes the start of the command. Each license was in the database once, with its status and its transaction, and each
active one with one mail.

## Killed and started again

The command was killed (SIGKILL) at random moments and started again with the same file, until a run ended by itself; one more run
then found every license imported. Afterwards the holder of each license signed in to the portal by the previous key, in lower
case, and the address. A tenth of the keys was also tried with another address, and was refused.

${table([
  ['export', 'rows', 'kills', 'licenses stored at the kills', 'lost', 'twice', 'sign-ins', 'refused'],
  ...systems.map(({ system, killed, signIns }) => [
    system,
    formatCount(killed.licenses.length),
    String(killed.stored.length),
    killed.stored.map(formatCount).join(', '),
    '0',
    '0',
    formatCount(signIns.signedIn),
    formatCount(signIns.refused),
  ]),
])}

In all, there were ${formatCount(sum(systems.map(({ signIns }) => signIns.signedIn)))} sign-ins. The bench fails if a license is missing or
stored twice, has another status, or is active and has no mail or more than one.
`;
}
