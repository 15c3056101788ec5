import { progressBar } from '../../dist/cli/terminal/progress-bar.js';

/** Number of progress lines if the output is not a terminal. */
const STEPS = 10;

/** @returns a function that receives the simulated time that has passed and the total */
export function showProgress({ clients, days }, stream = process.stderr) {
  const label = `${clients.toLocaleString('en-GB')} clients, ${days} ${days === 1 ? 'day' : 'days'}`;
  if (stream.isTTY) return progressBar(label, stream);
  let shown = 0;
  return (done, total) => {
    const step = Math.floor((done / total) * STEPS);
    if (step === shown) return;
    shown = step;
    stream.write(`${label}: ${(step / STEPS) * 100} %\n`);
  };
}
