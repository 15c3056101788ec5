/** Says that something is on its way. */
export function Loading({ text }: { text: string }) {
  return (
    <p class="loading quiet" role="status">
      {text}
    </p>
  );
}
