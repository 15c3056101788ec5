import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** The ids of a process and of its parent. */
export interface Running {
  readonly pid: number;
  readonly parent: number;
}

/** Lists the processes of the computer, from /proc on Linux and from `ps` elsewhere. */
export function everyProcess(): Running[] {
  if (!existsSync('/proc/self/stat')) {
    const lines = execFileSync('ps', ['-A', '-o', 'pid=', '-o', 'ppid='], { encoding: 'utf8' }).trim();
    return lines.split('\n').map((line) => {
      const [pid, parent] = line.trim().split(/\s+/).map(Number);
      return { pid: pid!, parent: parent! };
    });
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        // After the command in brackets, which may contain brackets itself, come the state and the parent.
        const [, parent] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
        return { pid: Number(pid), parent: Number(parent) };
      } catch {
        return []; // The process has ended meanwhile.
      }
    });
}
