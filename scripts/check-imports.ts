// Fails when an import breaks the plan of the house: node scripts/check-imports.ts <source directory>
import { findViolations } from "./import-rules.ts";

const [srcDir = "src"] = process.argv.slice(2);
const violations = findViolations(srcDir);
for (const { file, message } of violations) console.error(`${srcDir}/${file}: ${message}`);
if (violations.length > 0) process.exit(1);
