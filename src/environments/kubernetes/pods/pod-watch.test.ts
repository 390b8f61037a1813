import { once } from "node:events";
import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../base/clock.ts";
import { clientOf } from "../testing/open-answers.ts";
import type { Pod } from "./pod.ts";
import { PodWatch } from "./pod-watch.ts";

const version = (pod: Pod, resourceVersion: string, phase: string): Pod => ({
  ...pod,
  metadata: { ...pod.metadata, resourceVersion },
  status: { phase },
});

interface Opened {
  readonly watch: PodWatch;
  readonly tell: (type: string, object: Pod) => Promise<void>;
}

/** A watch on a server that tells what it is handed. */
async function openWatch(): Promise<Opened> {
  const watching = Promise.withResolvers<(line: string) => void>();
  const server = createServer((request, response) => {
    if (!request.url?.includes("watch=true")) {
      response.end(JSON.stringify({ metadata: { resourceVersion: "1" }, items: [] }));
      return;
    }
    response.flushHeaders();
    watching.resolve((line) => void response.write(line));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const client = clientOf(server);
  const log = { write: () => {} };
  const watch = new PodWatch({ client, clock: systemClock, log, namespace: "evals", labelSelector: "a" });
  onTestFinished(() => {
    watch[Symbol.dispose]();
    client[Symbol.dispose]();
    server.closeAllConnections();
    server.close();
  });
  const tell = async (type: string, object: Pod): Promise<void> => {
    (await watching.promise)(`${JSON.stringify({ type, object })}\n`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  };
  return { watch, tell };
}

test("what the watch tells of a Pod before its creation is answered is not lost", async () => {
  const { watch, tell } = await openWatch();
  const first: Pod = { metadata: { name: "first", uid: "1", resourceVersion: "2" } };
  await watch.admit("first", async () => first);
  const pod: Pod = { metadata: { name: "pod", uid: "2", resourceVersion: "5" } };
  await watch.admit("pod", async () => {
    await tell("ADDED", pod);
    await tell("MODIFIED", version(pod, "6", "Running"));
    return pod;
  });
  expect(watch.get("pod")?.status?.phase).toBe("Running");
  const gone: Pod = { metadata: { name: "gone", uid: "3", resourceVersion: "7" } };
  await watch.admit("gone", async () => {
    await tell("ADDED", gone);
    await tell("DELETED", version(gone, "8", "Pending"));
    return gone;
  });
  expect(watch.get("gone")).toBeNull();
});
