import type { CheckReport } from "./check-report.ts";

/** The report of a check for a program. */
export function checkJson(report: CheckReport, exitCode: number): Record<string, unknown> {
  return {
    schema_version: 1,
    exit_code: exitCode,
    job_dir: report.jobDir,
    offline_job_dir: report.offlineJobDir,
    network_not_looked_at: report.networkNotLookedAt,
    n_attempts: report.attempts,
    tasks: report.verdicts.map((each) => ({
      dataset_name: each.datasetName,
      task_name: each.taskName,
      verdict: each.verdict,
      findings: each.findings.map(({ kind, message, trialDir }) => ({ kind, message, trial_dir: trialDir })),
      oracle: each.oracle,
      nop: each.nop,
      needs_network: each.needsNetwork,
      warnings: each.warnings,
    })),
  };
}
