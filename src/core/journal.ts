import { fstatSync } from 'node:fs';
import { BufferedOutput } from './buffered-output.js';

// systemd reads a priority of syslog in angle brackets at the beginning of a line, see sd-daemon(3), so that `journalctl -p err`
// finds errors. Other readers of the log would not expect it, so it is written only to the journal.

/** The priorities of syslog, by the level of a log line: critical, error, warning, informational and debug. */
const PRIORITIES: Readonly<Record<string, number>> = {
  60: 2,
  50: 3,
  40: 4,
  30: 6,
  20: 7,
  10: 7,
};
/** A log line begins with the level of pino, in two digits. */
const LEVEL = /^\{"level":(\d\d),/;

/** Whether a file descriptor of this process is the journal of systemd, which JOURNAL_STREAM names by device and inode. */
function isJournal(fd: number): boolean {
  const { JOURNAL_STREAM: stream } = process.env;
  if (!stream) return false;
  const { dev, ino } = fstatSync(fd, { bigint: true });
  return stream === `${dev}:${ino}`;
}

/** Writes log lines to the journal, each with its priority. */
class JournalOutput extends BufferedOutput {
  override write(line: string): void {
    super.write(`<${PRIORITIES[LEVEL.exec(line)![1]!]}>${line}`);
  }
}

/** Creates the output for log lines on a file descriptor. */
export function logOutput(fd: number): BufferedOutput {
  return isJournal(fd) ? new JournalOutput(fd) : new BufferedOutput(fd);
}

/** Prints a sentence for the operator to standard error, in the journal with the priority of `level`. */
export function printSentence(sentence: string, level: 'info' | 'warn' | 'error' = 'info'): void {
  const priority = { info: 6, warn: 4, error: 3 }[level];
  process.stderr.write(`${isJournal(process.stderr.fd) ? `<${priority}>` : ''}${sentence}\n`);
}
