// Escape sequences whole: CSI; strings (OSC, DCS, SOS, PM, APC) up to their end; everything else that starts with ESC.
const escapeSequences =
  /\x1b(?:\[[0-?]*[ -/]*[@-~]?|[\]PX^_][^\x07\x1b\x80-\x9f]*(?:\x07|\x1b\\|\x9c)?|[ -/]*[0-~]?)|\x9b[0-?]*[ -/]*[@-~]/g;

const lineBreaks = /[\t\n\v\f\r\x85\u2028\u2029]\s*/g;

// Controls, what reorders text, and what is invisible; joiners stay, because emoji are made with them.
const unprintable =
  /[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

/** The text as one line that cannot drive a terminal: no escape sequence, control character or reordering is left. */
export function plainText(text: string): string {
  if (isPlainAscii(text)) return text;
  return text.replace(escapeSequences, "").replace(lineBreaks, " ").replace(unprintable, "").toWellFormed();
}

const wide =
  /[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\u33ff\u3400-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6b\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1d300}-\u{1d376}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/u;

const weightless = /[\p{Mn}\p{Me}\p{Cf}\p{Cc}\u1160-\u11ff\ud7b0-\ud7ff]/u;

let made: { readonly emojiSequence: RegExp; readonly graphemes: Intl.Segmenter } | null = null;

// Made for the first text that is not ASCII: they take longer than all else that a command does before it starts.
function unicode(): NonNullable<typeof made> {
  made ??= {
    // One picture made of several characters: flags, keycaps, skin tones, families.
    emojiSequence: new RegExp(String.raw`^\p{RGI_Emoji}$`, "v"),
    graphemes: new Intl.Segmenter("und", { granularity: "grapheme" }),
  };
  return made;
}

/** How many columns of a terminal the text takes; it must be plain. */
export function displayWidth(text: string): number {
  if (isPlainAscii(text)) return text.length;
  let width = 0;
  for (const { segment } of unicode().graphemes.segment(text)) width += graphemeWidth(segment);
  return width;
}

/** The text if it fits, else its start and an ellipsis; never wider than `columns`. */
export function fitWidth(text: string, columns: number): string {
  if (columns <= 0) return "";
  if (isPlainAscii(text)) return text.length <= columns ? text : `${text.slice(0, columns - 1)}…`;
  let width = 0;
  let kept = "";
  for (const { segment } of unicode().graphemes.segment(text)) {
    const next = width + graphemeWidth(segment);
    if (next > columns) return `${kept}…`;
    // What still fits is kept only while there is room for the ellipsis that may have to follow.
    if (next <= columns - 1) kept += segment;
    width = next;
  }
  return text;
}

/** The text if it fits, else its start and its end around an ellipsis; never wider than `columns`. */
export function fitMiddle(text: string, columns: number): string {
  if (columns < 5 || displayWidth(text) <= columns) return fitWidth(text, columns);
  const parts = [...unicode().graphemes.segment(text)].map(({ segment }) => segment);
  const take = (from: readonly string[], room: number): number => {
    let width = 0;
    const end = from.findIndex((part) => (width += graphemeWidth(part)) > room);
    return end < 0 ? from.length : end;
  };
  const head = take(parts, Math.floor((columns - 1) / 2));
  const tail = take(parts.toReversed(), Math.ceil((columns - 1) / 2));
  return `${parts.slice(0, head).join("")}…${parts.slice(parts.length - tail).join("")}`;
}

/** The text with spaces behind it up to `columns`; a wider text is left as it is. */
export function padEnd(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - displayWidth(text)));
}

/** The text with spaces before it up to `columns`; a wider text is left as it is. */
export function padStart(text: string, columns: number): string {
  return " ".repeat(Math.max(0, columns - displayWidth(text))) + text;
}

function graphemeWidth(grapheme: string): number {
  if (unicode().emojiSequence.test(grapheme)) return 2;
  let width = 0;
  for (const character of grapheme) {
    if (!weightless.test(character)) width += wide.test(character) ? 2 : 1;
  }
  return width;
}

function isPlainAscii(text: string): boolean {
  return /^[ -~]*$/.test(text);
}
