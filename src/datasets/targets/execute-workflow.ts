import { messageOf } from "../../base/rollout-error.ts";
import { answered, failed } from "./execution-result.ts";
import { readField, readText } from "./read-field.ts";
import type { TargetCall } from "./target-call.ts";
import type { ExecutionResult } from "./target.ts";

interface WorkflowRun {
  start(options: { readonly inputData: unknown }): unknown;
  cancel?(): unknown;
}

/** Runs a workflow on an item's input. It takes no signal; one that can be cancelled is told when nobody waits for it any more. */
export async function executeWorkflow({ target, item, signal }: TargetCall): Promise<ExecutionResult> {
  const workflow = target.target as { createRun(options: { readonly disableScorers: true }): unknown };
  const run = (await workflow.createRun({ disableScorers: true })) as WorkflowRun;
  // Nobody waits for what a cancelled run says of its cancellation.
  const cancel = (): void => void Promise.resolve(run.cancel?.()).catch(() => {});
  signal.addEventListener("abort", cancel, { once: true });
  try {
    return readOutcome(await run.start({ inputData: item.input }));
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

function readOutcome(outcome: unknown): ExecutionResult {
  const traceId = readText(outcome, "traceId");
  const status = readText(outcome, "status");
  switch (status) {
    case "success":
      return answered(readField(outcome, "result") ?? null, { traceId });
    case "failed": {
      const error = readField(outcome, "error");
      return { ...failed(readText(error, "message") ?? messageOf(error ?? "the workflow failed"), error), traceId };
    }
    case "tripwire": {
      const reason = readText(readField(outcome, "tripwire"), "reason") ?? "no reason given";
      return { ...failed(`the workflow was stopped by a tripwire: ${reason}`, null), traceId };
    }
    case "canceled":
      return { ...failed("the workflow was cancelled", null), traceId };
    case "suspended":
    case "paused":
      return {
        ...failed(`the workflow was ${status}; a workflow that waits for somebody is not supported in a run`, null),
        traceId,
      };
    default:
      return { ...failed(`the workflow ended with the unknown status ${JSON.stringify(status)}`, null), traceId };
  }
}
