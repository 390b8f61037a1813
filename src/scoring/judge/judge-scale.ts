/** What a judge may answer: a number between two, or one of some labels with what each is worth. */
export type JudgeScale =
  | { readonly min: number; readonly max: number }
  | { readonly choices: Readonly<Record<string, number>> };

/** What a judge answered: a number of the scale or one of its labels. */
export type Rating = number | string;

const fold = (label: string): string => label.trim().toLowerCase();

/** The labels of a scale of choices; none for numbers. */
export function labelsOf(scale: JudgeScale): string[] {
  return "choices" in scale ? Object.keys(scale.choices) : [];
}

/** The label of the scale that a text is, case aside; null when it is none. */
export function labelOf(text: string, scale: JudgeScale): string | null {
  return labelsOf(scale).find((label) => fold(label) === fold(text)) ?? null;
}

/** The score of a rating: what the label is worth, or where on the scale the number stands, from 0 to 1. */
export function scoreOf(rating: Rating, scale: JudgeScale): number {
  if ("choices" in scale) return scale.choices[rating] ?? Number.NaN;
  return (Number(rating) - scale.min) / (scale.max - scale.min);
}

/** The scale in words, for the judge. */
export function describeScale(scale: JudgeScale): string {
  if (!("choices" in scale)) return `{"reason": "…", "score": a number from ${scale.min} to ${scale.max}}`;
  const labels = labelsOf(scale).map((label) => JSON.stringify(label));
  return `{"reason": "…", "choice": ${labels.slice(0, -1).join(", ")} or ${labels.at(-1) ?? ""}}`;
}
