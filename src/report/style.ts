/** How text is emphasised and which signs lines are drawn with; without colour the emphasis is left out. */
export interface Style {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly cyan: (text: string) => string;
  readonly signs: Signs;
  /** The finished text, without the one sign that cutting puts into it where only ASCII is wanted. */
  readonly finish: (text: string) => string;
}

export interface Signs {
  /** An empty scale, the part of it that counts, and the point on it. */
  readonly track: string;
  readonly span: string;
  readonly point: string;
  readonly separator: string;
  readonly dash: string;
  readonly ellipsis: string;
  readonly atLeast: string;
}

export interface StyleOptions {
  readonly colour: boolean;
  /** False keeps what we draw to ASCII. */
  readonly unicode: boolean;
}

const drawn: Signs = {
  track: "─",
  span: "━",
  point: "●",
  separator: " · ",
  dash: "–",
  ellipsis: "…",
  atLeast: "≥",
};

const ascii: Signs = {
  track: ".",
  span: "=",
  point: "O",
  separator: ", ",
  dash: "-",
  ellipsis: "...",
  atLeast: ">=",
};

/** The style for a terminal that can or cannot do colour and Unicode. */
export function createStyle({ colour, unicode }: StyleOptions): Style {
  const wrap =
    (on: number, off: number) =>
    (text: string): string =>
      colour && text !== "" ? `\x1b[${on}m${text}\x1b[${off}m` : text;
  return {
    bold: wrap(1, 22),
    dim: wrap(2, 22),
    red: wrap(31, 39),
    green: wrap(32, 39),
    yellow: wrap(33, 39),
    cyan: wrap(36, 39),
    signs: unicode ? drawn : ascii,
    finish: (text) => (unicode ? text : text.replaceAll("…", "~")),
  };
}
