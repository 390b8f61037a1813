/** What a command may say, and to whom: data to stdout, everything else to stderr. */
export interface Terminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly isLive: boolean;
  /** Colour and signs of what goes to stdout. */
  readonly outStyle: { readonly colour: boolean; readonly unicode: boolean };
  readonly errStyle: { readonly colour: boolean; readonly unicode: boolean };
  readonly columns: () => number;
  readonly rows: () => number;
  onResize(listener: () => void): Disposable;
}

/** Looks at a process's streams and environment once. */
export function openTerminal(process: NodeJS.Process): Terminal {
  const { stdout, stderr, env } = process;
  // A reader that went away (`| head`) is no reason to lose a job.
  for (const stream of [stdout, stderr]) stream.on("error", () => {});
  const isDumb = env["TERM"] === "dumb";
  const unicode = /utf-?8/i.test(env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "utf-8");
  const hasColour = (isTty: boolean): boolean => {
    if (env["NO_COLOR"]) return false;
    if (env["FORCE_COLOR"]) return env["FORCE_COLOR"] !== "0";
    return isTty && !isDumb;
  };
  // Bound now: while code of a person's own runs, what it writes to stdout is led elsewhere.
  const out = stdout.write.bind(stdout);
  return {
    out: (text) => void out(text),
    err: (text) => void stderr.write(text),
    isLive: stderr.isTTY && !isDumb && !env["CI"],
    outStyle: { colour: hasColour(stdout.isTTY), unicode },
    errStyle: { colour: hasColour(stderr.isTTY), unicode },
    columns: () => (stdout.isTTY ? stdout.columns : stderr.columns) || Number(env["COLUMNS"]) || 100,
    rows: () => stderr.rows || 24,
    onResize(listener) {
      stderr.on("resize", listener);
      return { [Symbol.dispose]: () => void stderr.off("resize", listener) };
    },
  };
}
