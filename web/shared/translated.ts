interface Texts {
  [name: string]: string | Texts;
}

/** The texts of a page by section of the file of a language, each with a copy of the English ones. */
const sections = new Map<string, { readonly shown: Texts; readonly english: Texts }>();

/** Registers the texts of a section, so that `showTexts` replaces them. */
export function translated<Section extends object>(name: string, english: Section): Section {
  sections.set(name, { shown: english as Texts, english: structuredClone(english) as Texts });
  return english;
}

/**
 * Replaces the registered texts by those of another language. The objects stay the same, so that modules can keep parts of them.
 * @param file undefined for English @throws if a section is missing
 */
export function showTexts(file: Readonly<Record<string, Texts>> | undefined): void {
  const replacements = [...sections].map(([name, { shown, english }]) => {
    const texts = file ? file[name] : english;
    if (typeof texts !== 'object') throw new Error(`The section ${name} is missing.`);
    return { shown, texts };
  });
  for (const { shown, texts } of replacements) replace(shown, texts);
}

function replace(shown: Texts, texts: Texts): void {
  // Languages have different plural forms.
  for (const name of Object.keys(shown)) if (!(name in texts)) delete shown[name];
  for (const [name, text] of Object.entries(texts)) {
    const before = shown[name];
    if (typeof text === 'object' && typeof before === 'object') replace(before, text);
    else shown[name] = text;
  }
}
