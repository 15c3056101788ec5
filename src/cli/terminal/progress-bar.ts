const WIDTH = 30;

/**
 * A bar on standard error, where that is a terminal: `App.dmg  ━━━━━━━━━━               34 %`.
 * @returns to be told how much of the total is done; all of it takes the bar away
 */
export function progressBar(label: string, stream = process.stderr): (done: number, total: number) => void {
  let shown = -1;
  return (done, total) => {
    const percent = Math.floor((done / total) * 100);
    if (!stream.isTTY || percent === shown) return;
    shown = percent;
    const bar = '━'.repeat(Math.floor((percent / 100) * WIDTH)).padEnd(WIDTH);
    stream.write(percent < 100 ? `\r${label}  ${bar} ${String(percent).padStart(3)} %` : '\r\u001b[K');
  };
}
