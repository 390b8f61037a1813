// A minus that ends a word or joins two numbers is a hyphen; a point needs digits behind it, or it ends a sentence.
const pattern =
  /(?<![\w.,])[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w]|[.,]\d)|(?<![\w.,])[-+−]?\.\d+(?:[eE][-+]?\d+)?(?!\w)/g;

/**
 * The first or last number of a text, or the number that the text is as a `whole`; null when there is none. Thousands may
 * be parted with commas.
 */
export function findNumber(text: string, which: "first" | "last" | "whole"): number | null {
  const matches = text.match(pattern);
  const found = which === "last" ? matches?.at(-1) : matches?.at(0);
  if (found === undefined || (which === "whole" && found !== text.trim())) return null;
  const value = Number(found.replaceAll(",", "").replace("−", "-"));
  return Number.isFinite(value) ? value : null;
}
