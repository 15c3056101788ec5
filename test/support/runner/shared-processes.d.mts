import type { ChildProcess } from 'node:child_process';

export declare function shareProcess(child: Pick<ChildProcess, 'pid' | 'kill'>): void;
