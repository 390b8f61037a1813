// The fast inner loop: formatting, types, lint, import rules, unused code, package shape, then the tests beside the code.
import { runSteps, tool } from "./run-steps.ts";

const node = process.execPath;
const isStaticOnly = process.argv.includes("--static");

await runSteps([
  { name: "format", command: [node, tool("oxfmt"), "--check", "."] },
  // Before the types: examples and tests import the package by its name, which leads to what was built.
  { name: "build", command: [node, "scripts/build.ts"] },
  { name: "types", command: [node, tool("typescript", "tsc"), "-p", "tsconfig.json"] },
  { name: "lint", command: [node, tool("oxlint"), "--deny-warnings", "--type-aware"] },
  { name: "imports", command: [node, "scripts/check-imports.ts", "src"] },
  { name: "schemas", command: [node, "scripts/schemas.ts", "--check"] },
  { name: "unused", command: [node, tool("knip")] },
  { name: "package", command: [node, tool("publint"), "--strict"] },
  ...(isStaticOnly
    ? []
    : [{ name: "unit tests", command: [node, tool("vitest"), "run", "--project", "unit", "--reporter", "dot"] }]),
]);
