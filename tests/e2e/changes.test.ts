import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { openLocalRig, rewarding } from "./local-rig.ts";

const rig = await openLocalRig();

describe("changes.txt of a trial on this machine", () => {
  test("shows what the agent added, changed and removed against the image, and nothing of the tests", async () => {
    const room = await rig.makeRoom({
      edits: {
        dockerfile:
          "FROM debian\nWORKDIR /app\nRUN mkdir old && echo a >old/a && printf 'one\\ntwo\\nthree\\n' >text && echo same >same\n",
        instruction: `[ "$1" = install ] && exit
rm -r old; sed -i s/two/2/ text; touch same; ln -s /etc/passwd link; printf '\\0' >binary; mkdir -p new; echo new >new/file`,
        test: `echo tests >by-the-tests; ${rewarding(1)}`,
      },
      idle: { dockerfile: "FROM debian\nWORKDIR /app\nRUN echo same >same\n", instruction: "cat same" },
    });
    expect((await room.run(["job.yaml", "-q"])).code).toBe(0);
    expect(await room.read("jobs/job/agent/tasks/edits__1/changes.txt")).toBe(`3 added, 1 changed, 1 removed in /app

added    binary (1 bytes, binary)
added    link -> /etc/passwd
added    new/file (4 bytes)
removed  old/
changed  text (12 bytes)

--- a/text
+++ b/text
@@ -1,3 +1,3 @@
 one
-two
+2
 three

--- a/new/file
+++ b/new/file
@@ -0,0 +1,1 @@
+new
`);
    expect(existsSync(room.path("jobs/job/agent/tasks/idle__1/changes.txt"))).toBe(false);
    expect((await room.trial("agent/tasks/edits__1")).warnings).toEqual([]);
  });
});
