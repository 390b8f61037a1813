import { displayWidth } from "../src/base/terminal-text.ts";

const cell = { width: 8.4, height: 18 };
const margin = 16;
const colours: Readonly<Record<string, string>> = {
  plain: "#d6dbe5",
  dim: "#7d8596",
  "31": "#f07178",
  "32": "#8fce72",
  "33": "#e5c07b",
  "34": "#61afef",
  "35": "#c678dd",
  "36": "#56c2d6",
};

/** An SVG of what a terminal shows of a text with colours. */
export function drawTerminal(text: string, columns: number): string {
  const lines = text.trimEnd().split("\n");
  const width = Math.ceil(columns * cell.width + 2 * margin);
  const height = lines.length * cell.height + 2 * margin;
  const rows = lines.map((line, index) => drawLine(line, margin + (index + 0.75) * cell.height));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<rect width="100%" height="100%" rx="8" fill="#1b1f27"/>`,
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" xml:space="preserve">`,
    ...rows.filter((row) => row !== ""),
    "</g>",
    "</svg>",
    "",
  ].join("\n");
}

function drawLine(line: string, y: number): string {
  let column = 0;
  let colour = "plain";
  let isDim = false;
  let isBold = false;
  let spans = "";
  for (const [token] of line.matchAll(/\x1b\[\d*m|[^\x1b]+/g)) {
    const code = /^\x1b\[(\d*)m$/.exec(token)?.[1];
    if (code === undefined) {
      const fill = colours[isDim ? "dim" : colour] ?? colours["plain"];
      const length = displayWidth(token);
      const place = `x="${round(margin + column * cell.width)}" textLength="${round(length * cell.width)}"`;
      if (token.trim() !== "") {
        spans += `<tspan ${place} fill="${fill}"${isBold ? ' font-weight="bold"' : ""}>${escape(token)}</tspan>`;
      }
      column += length;
    } else if (code === "1") isBold = true;
    else if (code === "2") isDim = true;
    else if (code === "22") isBold = isDim = false;
    else colour = code in colours ? code : "plain";
  }
  return spans === "" ? "" : `<text y="${round(y)}">${spans}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
