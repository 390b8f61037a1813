import { runSteps, tool } from "./run-steps.ts";

await runSteps([{ name: "format", command: [process.execPath, tool("oxfmt"), "."] }]);
