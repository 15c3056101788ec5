/** A smaller difference is ignored: it comes from the whole seconds of the header, and from the network. */
const MIN_DIFFERENCE_MS = 60_000;

/** By how much the clock of the service is ahead of that of this device, which may be wrong by days. */
let difference = 0;

/** Notes the time of the service. @param date the header `date` of its response */
export function noteServiceTime(date: string | null): void {
  const measured = Date.parse(date ?? '') - Date.now();
  difference = Math.abs(measured) > MIN_DIFFERENCE_MS ? measured : 0;
}

/** The time of the service, in milliseconds: what has expired, and what can still be cancelled, depends on its clock alone. */
export const serviceTime = (): number => Date.now() + difference;
