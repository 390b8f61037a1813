import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { ChangeReport, ContentReader, Environment } from "../environment.ts";
import type { ConformanceCase, ConformanceSubject } from "./conformance-case.ts";
import { textFile } from "./place-and-read.ts";
import { runScript } from "./run-command.ts";

const maxBytes = 1024;

async function listChanges(
  { scratch: directory, signal }: Pick<ConformanceSubject, "scratch" | "signal">,
  environment: Environment,
  exclude: readonly string[] = [],
): Promise<ChangeReport | null> {
  const listing = environment.listChanges?.({ directory, exclude, signal });
  assert.ok(listing, "the capability is declared and there is no listing");
  return listing;
}

function linesOf({ changes }: ChangeReport): string[] {
  return changes.map(({ kind, path }) => `${kind} ${path}`).sort();
}

async function readText(read: ContentReader | undefined, path: string, signal: AbortSignal): Promise<string | null> {
  const bytes = (await read?.(path, maxBytes, signal)) ?? null;
  return bytes && Buffer.from(bytes).toString("utf8");
}

/** What a provider with the capability `changes` promises beside all else. */
export const changeCases: readonly ConformanceCase[] = [
  {
    title: "a directory that nothing has touched has no changes",
    needs: ["changes"],
    async run(subject) {
      const environment = await subject.createEnvironment();
      const report = await listChanges({ ...subject, scratch: environment.workdir }, environment, ["/logs"]);
      assert.deepEqual(report?.changes ?? [], []);
    },
  },
  {
    title: "added files, directories and links are listed, without what was excluded",
    needs: ["changes"],
    async run(subject) {
      const { scratch, signal } = subject;
      const environment = await subject.createEnvironment();
      await environment.copyTo(
        [
          textFile(`${scratch}/deep/er/file`, "one\n", 0o600),
          textFile(`${scratch}/large`, "x".repeat(maxBytes + 1)),
          textFile(`${scratch}/hidden/file`, "two\n"),
          { kind: "link", target: `${scratch}/link`, to: "/etc/passwd" },
        ],
        signal,
      );
      const report = await listChanges(subject, environment, [`${scratch}/hidden`]);
      // A provider may decline.
      if (report === null) return;
      const wanted = ["added deep", "added deep/er", "added deep/er/file", "added large", "added link"];
      assert.deepEqual(linesOf(report), wanted);
      assert.equal(await readText(report.readAfter, "deep/er/file", signal), "one\n");
      assert.equal(await report.readAfter("large", maxBytes, signal), null, "a file above the limit was read");
      assert.equal(await report.readAfter("link", maxBytes, signal), null, "a link was followed");
    },
  },
  {
    title: "files that the image has are listed as changed or removed, and unchanged ones are not",
    needs: ["changes", "snapshots"],
    async run(subject) {
      const { scratch, signal, provider } = subject;
      const key = randomUUID().replaceAll("-", "");
      const first = await subject.createEnvironment({
        place: ["changed", "removed", "same", "folder/one"].map((name) => textFile(`${scratch}/${name}`, "old\n")),
      });
      try {
        const image = await first.snapshot?.({ key, examine: async () => true, signal });
        assert.ok(image, "nothing was saved");
        const second = await subject.createEnvironment({ image });
        try {
          await second.copyTo(
            [
              textFile(`${scratch}/changed`, "new one\n"),
              textFile(`${scratch}/new`, "new\n"),
              { kind: "remove", target: `${scratch}/removed` },
              { kind: "remove", target: `${scratch}/folder` },
            ],
            signal,
          );
          const report = await listChanges(subject, second);
          if (report === null) return;
          assert.deepEqual(linesOf(report), ["added new", "changed changed", "removed folder", "removed removed"]);
          assert.equal(await readText(report.readAfter, "changed", signal), "new one\n");
          if (report.readBefore) assert.equal(await readText(report.readBefore, "changed", signal), "old\n");
        } finally {
          await second.destroy(signal);
        }
      } finally {
        await first.destroy(signal);
        await provider.snapshots?.remove(key, new AbortController().signal);
      }
    },
  },
  {
    title: "a directory that was removed and made again lists what is gone, and links are not followed",
    needs: ["changes", "snapshots", "shell"],
    async run(subject) {
      const { scratch, signal, provider } = subject;
      const key = randomUUID().replaceAll("-", "");
      const first = await subject.createEnvironment({ place: [textFile(`${scratch}/folder/old`, "old\n")] });
      try {
        const image = await first.snapshot?.({ key, examine: async () => true, signal });
        assert.ok(image, "nothing was saved");
        const second = await subject.createEnvironment({ image });
        try {
          const script = `cd ${scratch}; rm -r folder; mkdir folder; echo new >folder/new; ln -s /etc out; mkfifo pipe`;
          assert.equal((await runScript(second, script, { signal })).exitCode, 0);
          const report = await listChanges(subject, second);
          if (report === null) return;
          const lines = linesOf(report);
          assert.deepEqual(lines.slice(0, 3), ["added folder/new", "added out", "added pipe"]);
          // Some engines list the directory that was removed instead of its file.
          assert.match(lines.slice(3).join(), /^removed folder(\/old)?$/);
          assert.equal(await report.readAfter("out/hostname", maxBytes, signal), null);
          assert.equal(await report.readAfter("pipe", maxBytes, signal), null);
        } finally {
          await second.destroy(signal);
        }
      } finally {
        await first.destroy(signal);
        await provider.snapshots?.remove(key, new AbortController().signal);
      }
    },
  },
];
