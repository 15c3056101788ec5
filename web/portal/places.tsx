/** The highest machine limit whose places are drawn one by one; a higher one is drawn as a bar. */
const MAX_DRAWN_PLACES = 16;

/** Draws how much of the machine limit of a license is used. A text beside the drawing says the same. */
export function Places({ used, allowed }: { used: number; allowed: number }) {
  if (allowed > MAX_DRAWN_PLACES) {
    const percent = Math.min(100, (used / allowed) * 100);
    return (
      <svg class="places bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        <rect width="100" height="6" class="free" />
        <rect width={percent} height="6" class="used" />
      </svg>
    );
  }
  // If the machine limit was lowered, more machines may be in use than allowed.
  const places = Array.from(
    { length: Math.max(allowed, Math.min(used, MAX_DRAWN_PLACES)) },
    (_, index) => index,
  );
  return (
    <span class="places" aria-hidden="true">
      {places.map((place) => (
        <span key={place} class={place < used ? 'used' : 'free'} />
      ))}
    </span>
  );
}
