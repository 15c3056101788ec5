/** Shows a message while data is loaded; screen readers announce it. */
export function Loading({ text }: { text: string }) {
  return (
    <p class="loading quiet" role="status">
      {text}
    </p>
  );
}
