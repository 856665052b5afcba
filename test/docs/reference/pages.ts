import { buildProgram } from "../../../src/cli/program.ts";
import { processTerminal } from "../../../src/cli/terminal/terminal.ts";
import { configSchema } from "../../../src/config/schema.ts";
import { Metrics } from "../../../src/observe/metrics.ts";
import { exchangeFacts, gauges, rejectedAttempt } from "../../observe/fixtures.ts";
import { adminApiPage } from "./admin-api.ts";
import { commandLinePage } from "./command-line.ts";
import { configurationPage, type Schema } from "./configuration.ts";
import { metricsPage } from "./metrics.ts";

/** The pages of docs/reference that follow from definitions of the program. */
export function referencePages(): Readonly<Record<string, string>> {
  // As a program reads it, so that a page has what `sluice config schema` prints.
  const schema = JSON.parse(JSON.stringify(configSchema)) as Schema;
  return {
    "configuration.md": configurationPage(schema),
    "admin-api.md": adminApiPage(),
    "cli.md": commandLinePage(buildProgram(processTerminal())),
    "metrics.md": metricsPage(scrape()),
  };
}

/** One sample of each metric. */
function scrape(): string {
  const metrics = new Metrics();
  metrics.observe(exchangeFacts({ attempts: 2, failedAttempts: [rejectedAttempt] }));
  metrics.observe(exchangeFacts({ outcome: "failed", errorCode: "upstream_error" }));
  metrics.observe(exchangeFacts({ outcome: "cancelled", charged: 0 }));
  const cap = { period: "day", models: "", limit: 5, used: 1 } as const;
  const account = { account: "acc_1", label: "team", unit: "credits", balance: 5, caps: [cap] } as const;
  return metrics.render({ ...gauges, accounts: [account] });
}
