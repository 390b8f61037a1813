import { RolloutError } from "../../../base/rollout-error.ts";
import type { ImageOutput } from "../../images/image-output.ts";

const notThere = /^could not connect to \S+ after \d+ trials$/m;
// Its own words, or of what gives it a user namespace; what comes after the first is a trace or a consequence.
const refusal = /^(?:buildkitd: |\[rootlesskit:\w+ *\] error: )(.+)$/m;
const lost = /^error: .*rpc error: code = Unavailable/m;

/** What became of BuildKit's daemon, when it did not start or did not last, which no Dockerfile is to blame for. */
export function findDaemonFailure(output: Pick<ImageOutput, "tail" | "withTail">): RolloutError | null {
  const { tail } = output;
  if (lost.test(tail)) {
    return new RolloutError("image_build_failed", output.withTail("BuildKit ended in the middle of the build"), {
      hint: "it may have been killed for its memory: look at provider_config.builder.limits",
    });
  }
  if (!notThere.test(tail)) return null;
  const words = refusal.exec(tail)?.[1];
  if (words === undefined) {
    return new RolloutError("image_build_failed", output.withTail("BuildKit does not answer in its Pod"), {
      transient: true,
    });
  }
  return new RolloutError("config_invalid", output.withTail(`BuildKit cannot start in its Pod: ${words}`), {
    hint: "provider_config.builder takes `privileged`, or a rootless image on nodes that allow user namespaces",
  });
}
