/** Hands whole lines that code of a person's own writes to stdout to `print`, until it is disposed; ours go by another way. */
export function capturePrints(stdout: NodeJS.WriteStream, print: (line: string) => void): Disposable {
  const plain = stdout.write.bind(stdout);
  let rest = "";
  const write = (chunk: string | Uint8Array, ...more: readonly unknown[]): boolean => {
    const lines = (rest + (typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8"))).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) print(line);
    const done = more.find((one) => typeof one === "function") as (() => void) | undefined;
    done?.();
    return true;
  };
  stdout.write = write;
  return {
    [Symbol.dispose]() {
      stdout.write = plain;
      if (rest !== "") print(rest);
    },
  };
}
