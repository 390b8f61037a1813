// What JSON may hold as it is although a terminal obeys it, takes it for the end of a line, reorders by it or hides it.
const unsafe =
  /[\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

/** A value as JSON that cannot drive a terminal and reads back as the same value. */
export function plainJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(unsafe, (sign) =>
    Array.from({ length: sign.length }, (_, index) => escapeOf(sign.charCodeAt(index))).join(""),
  );
}

function escapeOf(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, "0")}`;
}
