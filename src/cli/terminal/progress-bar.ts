const WIDTH = 30;

/**
 * Creates a progress bar on standard error, if standard error is a terminal: `App.dmg  ━━━━━━━━━━                      34 %`.
 * @returns a function that shows the progress; `done === total` removes the bar, and so does its disposal
 */
export function progressBar(
  label: string,
  stream = process.stderr,
): ((done: number, total: number) => void) & Disposable {
  let shownPercent = -1;
  const show = (done: number, total: number) => {
    const percent = Math.floor((done / total) * 100);
    if (!stream.isTTY || percent === shownPercent) return;
    shownPercent = percent;
    const bar = '━'.repeat(Math.floor((percent / 100) * WIDTH)).padEnd(WIDTH);
    stream.write(percent < 100 ? `\r${label}  ${bar} ${String(percent).padStart(3)} %` : '\r\u001b[K');
  };
  return Object.assign(show, { [Symbol.dispose]: () => show(1, 1) });
}
