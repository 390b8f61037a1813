import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";

/** Values that a job takes from its surroundings and that must never be seen again; one for each who gets one. */
export const canaries = {
  AGENT_KEY: "canary+agent/5f0c1b7e=d9",
  JUDGE_KEY: "canary&judge?77ab12c4e0",
  BUILD_KEY: "canary:build!d41d8cd98f",
};

// All that a shell can do with a value in $key: whole, in pieces, encoded, as names, as links, without a line end.
const leak = (dir: string): string => String.raw`
echo "plain $key"; echo "plain $key" >&2
printf %s "${"$"}{key:0:7}"; sleep 0.2; echo "${"$"}{key:7}"
for prefix in "" x xy; do printf %s "$prefix$key" | base64 -w0; echo; printf %s "$prefix$key" | base64 -w0 >&2; done
encoded=$(printf %s "$key" | sed 's/%/%25/g; s/+/%2B/g; s/&/%26/g; s/?/%3F/g; s/=/%3D/g; s/:/%3A/g; s,/,%2F,g'); echo "https://example.com/?k=$encoded"
digits=$(printf %s "$key" | od -An -v -tx1 | tr -d ' \n'); echo "$digits"; echo "${"$"}{digits^^}" > ${dir}/"$digits"
printf '{"key":"%s"}\n' "$key"; printf '\377\376 %s \0 %s' "$key" "$key"; printf '\033]0;%s\007' "$key"
mkdir -p ${dir}/"$key"x 2>/dev/null; echo "$key" > ${dir}/log; head -c 300000 /dev/zero > ${dir}/large; printf %s "$key" >> ${dir}/large
base64_key=$(printf %s "$key" | base64 -w0 | tr -d /=); echo x > ${dir}/"$base64_key"; echo x > ${dir}/"$encoded"; ln -sf "${"$"}encoded" ${dir}/link
printf '{"cost_usd":"%s","%s":1}' "$key" "$key" > ${dir}/usage.json; echo "$key" > ${dir}/stdout.txt
printf %s "last $key"
`;

/** Scripts with which agent and tests leak in every way that they have; each ends as it is told to. */
export const leakyScripts = {
  install: `key=$AGENT_KEY${leak("/logs/agent")}`,
  execute: (end: string): string =>
    `key=$AGENT_KEY${leak("/logs/agent")}echo "$key" > /logs/verifier/reward.txt
(exec -a "daemon-$key" sleep 4719 >/dev/null 2>&1 &)
${end}`,
  test: (end: string): string => `key=$JUDGE_KEY${leak("/logs/verifier")}${end}`,
};

/** Nothing below a directory, names and links included, and no text may hold a canary in any form. */
export function expectNoCanary(dir: string, texts: readonly string[]): void {
  const forms = Object.values(canaries).flatMap((value) => [
    value,
    encodeURIComponent(value),
    JSON.stringify(value).slice(1, -1),
    Buffer.from(value).toString("hex"),
    Buffer.from(value).toString("hex").toUpperCase(),
    ...["", "x", "xy"].map((prefix) => middleOfBase64(prefix, value)),
  ]);
  const found: string[] = [];
  const look = (where: string, text: string): void => {
    for (const form of forms) if (text.includes(form)) found.push(`${where}: ${form}`);
  };
  for (const [index, text] of texts.entries()) look(`text ${index}`, text);
  const entries = readdirSync(dir, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    look("a name", entry.name);
    if (entry.isSymbolicLink()) look(path, readlinkSync(path));
    if (entry.isFile()) look(path, readFileSync(path).toString("latin1"));
  }
  expect(found).toEqual([]);
  expect(entries.length).toBeGreaterThan(20);
}

// Without what it shares with its neighbours.
function middleOfBase64(prefix: string, value: string): string {
  const whole = Buffer.from(prefix + value)
    .toString("base64")
    .replace(/=+$/, "");
  return whole.slice(prefix === "" ? 0 : 4, -2);
}
