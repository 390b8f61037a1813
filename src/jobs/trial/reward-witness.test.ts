import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { RewardWitness } from "./reward-witness.ts";

function open(): { witness: RewardWitness; token: string; passed: () => string; write: (text: string) => void } {
  const witness = new RewardWitness();
  const token = witness.command[5] ?? "";
  const chunks: Buffer[] = [];
  const sink = witness.watch({ write: (chunk) => void chunks.push(Buffer.from(chunk)) });
  return {
    witness,
    token,
    write: (text) => void sink.write(Buffer.from(text, "latin1")),
    passed: () => {
      void sink.end();
      return Buffer.concat(chunks).toString("latin1");
    },
  };
}

describe("what the tests print", () => {
  test("passes as it is, and our own words do not", () => {
    const { witness, token, write, passed } = open();
    write(`one\0two\n\0${token}+1\n\0late`);
    expect({ passed: passed(), reward: witness.reward }).toEqual({
      passed: "one\0two\nlate",
      reward: { text: "1\n" },
    });
  });

  test("may be cut anywhere", () => {
    for (const size of [1, 2, 3, 7, 20]) {
      const { witness, token, write, passed } = open();
      const all = `a\0\0${token.slice(0, 5)}b\0${token}+0.5\0c\0`;
      for (let at = 0; at < all.length; at += size) write(all.slice(at, at + size));
      expect({ passed: passed(), reward: witness.reward }).toEqual({
        passed: `a\0\0${token.slice(0, 5)}bc\0`,
        reward: { text: "0.5" },
      });
    }
  });

  test("loses nothing when it ends like our words begin", () => {
    const { witness, token, write, passed } = open();
    write(`x\0${token.slice(0, 9)}`);
    expect({ passed: passed(), reward: witness.reward }).toEqual({ passed: `x\0${token.slice(0, 9)}`, reward: null });
  });

  test("is not held without end when our words do not end", () => {
    const { witness, token, write } = open();
    write(`\0${token}+`);
    for (let round = 0; round < 30; round++) write("y".repeat(1000));
    expect(witness.reward?.text?.length).toBeLessThan(30_000);
  });
});

test("a task without a reward is told from one whose reward is empty", () => {
  const said = (text: string): unknown => {
    const { witness, token, write } = open();
    write(`\0${token}${text}\0`);
    return witness.reward;
  };
  expect([said("-"), said("+")]).toEqual([{ text: null }, { text: "" }]);
});

describe("in a real shell", () => {
  const pass = "echo 1 > /logs/verifier/reward.txt";

  function runTests(script: string, env: Readonly<Record<string, string>> = {}) {
    const { witness, write, passed } = open();
    const room = mkdtempSync(join(tmpdir(), "rollout-witness-"));
    onTestFinished(() => rmSync(room, { recursive: true, force: true }));
    const here = (text: string): string => text.replaceAll("/tests/", `${room}/`).replaceAll("/logs/verifier", room);
    writeFileSync(join(room, "test.sh"), here(script));
    const [shell = "", ...args] = witness.command.map(here);
    const { status, stdout, stderr } = spawnSync(shell, args, {
      env: { PATH: process.env["PATH"], ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    write(stdout.toString("latin1"));
    return { code: status, text: witness.reward?.text, stdout: passed(), stderr: stderr.toString() };
  }

  test.each<[string, string, object]>([
    ["that pass", `echo hi; ${pass}`, { code: 0, text: "1\n", stdout: "hi\n", stderr: "" }],
    [
      "that fail at once and trace",
      `set -eux; ${pass}; false`,
      { code: 1, text: "1\n", stderr: "+ echo 1\n+ false\n" },
    ],
    ["without a reward", "exit 7", { code: 7, text: null }],
    [
      "with an end of their own",
      "trap 'echo 0.5 > /logs/verifier/reward.txt' EXIT; exit 3",
      { code: 3, text: "0.5\n" },
    ],
    ["that become another program", `exec >/dev/null; ${pass}; exec true`, { code: 0, text: "1\n", stdout: "" }],
    ["that are killed", "kill -9 $$", { code: 137, text: null, stderr: "" }],
    ["that look around", 'echo "[$BASH_ENV] $#"; bash -c "echo [\\$BASH_ENV]"', { stdout: "[] 0\n[]\n" }],
  ])("tests %s do as they would without a witness", (_what, script, end) => {
    expect(runTests(script)).toMatchObject(end);
  });

  test("tests keep a start-up file that they are given", () => {
    const file = join(mkdtempSync(join(tmpdir(), "rollout-witness-")), "env");
    writeFileSync(file, "greeting=hello");
    expect(runTests('echo "$greeting $BASH_ENV"', { BASH_ENV: file }).stdout).toContain(`hello ${file}`);
    rmSync(join(file, ".."), { recursive: true });
  });

  test("tests that leave something behind, which writes later, are not waited for", () => {
    const later = "(sleep 30; echo 1 > /logs/verifier/reward.txt) >/dev/null 2>&1 & disown";
    const end = runTests(`echo 0 > /logs/verifier/reward.txt; ${later}; echo $!`);
    process.kill(Number(end.stdout));
    expect(end).toMatchObject({ code: 0, text: "0\n" });
  });
});
