/** The accent colour in the forms that the pages need, as `#rrggbb`. */
export interface Accent {
  /** For links and buttons on a light background. */
  readonly light: string;
  /** The darker colour of a control under the pointer, on a light background. */
  readonly lightStrong: string;
  /** For links and buttons on a dark background. */
  readonly dark: string;
  /** The lighter colour of a control under the pointer, on a dark background. */
  readonly darkStrong: string;
}

/** The contrast of text and its background that WCAG 2.2 (1.4.3) demands. */
export const MIN_CONTRAST = 4.5;

/**
 * The backgrounds against which contrast is checked: `--tint` in `web/shared/page/style.css`. Most backgrounds have more contrast.
 */
const LIGHT_BACKGROUND = '#f0f3f3';
const DARK_BACKGROUND = '#1b262c';

/** The part of black or white in the colour of a control under the pointer, from 0 to 1. */
const STRONG_PART = 0.25;
/** The part of white is increased by this step until the contrast is large enough. */
const MIX_STEP = 0.02;

/**
 * Derives the colours of links and buttons from one colour. For dark backgrounds the colour is mixed with white until its
 * contrast is `MIN_CONTRAST`.
 * @param colour `#rrggbb`
 * @returns null if the contrast of the colour with a light background is below `MIN_CONTRAST`
 */
export function deriveAccent(colour: string): Accent | null {
  if (contrast(colour, LIGHT_BACKGROUND) < MIN_CONTRAST) return null;
  let part = 0;
  while (contrast(mix(colour, '#ffffff', part), DARK_BACKGROUND) < MIN_CONTRAST) part += MIX_STEP;
  const dark = mix(colour, '#ffffff', part);
  return {
    light: colour,
    lightStrong: mix(colour, '#000000', STRONG_PART),
    dark,
    darkStrong: mix(dark, '#ffffff', STRONG_PART),
  };
}

/** The contrast ratio of two colours, from 1 to 21 (WCAG 2.2, "contrast ratio"). */
export function contrast(one: string, other: string): number {
  const [lighter, darker] = [luminance(one), luminance(other)].toSorted((a, b) => b - a);
  return (lighter! + 0.05) / (darker! + 0.05);
}

/** The relative luminance of a colour, from 0 to 1 (WCAG 2.2, "relative luminance"). */
function luminance(colour: string): number {
  const [red, green, blue] = channels(colour).map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

/** Returns red, green and blue, each from 0 to 255. */
const channels = (colour: string): number[] =>
  [1, 3, 5].map((start) => Number.parseInt(colour.slice(start, start + 2), 16));

/** Mixes a colour with another one. @param part the part of the other colour, from 0 to 1 */
function mix(colour: string, other: string, part: number): string {
  const others = channels(other);
  const mixed = channels(colour).map((value, i) => Math.round(value + (others[i]! - value) * part));
  return `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}
