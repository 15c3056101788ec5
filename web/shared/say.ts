/** Puts words into a sentence of the catalogue: `say('Sent to {email}.', { email })`. For elements there is `fill`. */
export function say(sentence: string, parts: Record<string, string>): string {
  return sentence.replaceAll(/\{(\w+)\}/g, (whole, name: string) => parts[name] ?? whole);
}
