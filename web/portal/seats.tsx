/** More than a glance can count. */
const COUNTABLE = 16;

/** The places of a license, drawn; the messages beside it say the same. */
export function Seats({ used, allowed }: { used: number; allowed: number }) {
  if (allowed > COUNTABLE) {
    const percent = Math.min(100, (used / allowed) * 100);
    return (
      <svg class="seats bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        <rect width="100" height="6" class="free" />
        <rect width={percent} height="6" class="used" />
      </svg>
    );
  }
  // Where the number allowed was lowered, more may be in use than there are places.
  const places = Array.from({ length: Math.max(allowed, Math.min(used, COUNTABLE)) }, (_, index) => index);
  return (
    <span class="seats" aria-hidden="true">
      {places.map((place) => (
        <span key={place} class={place < used ? 'used' : 'free'} />
      ))}
    </span>
  );
}
