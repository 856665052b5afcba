import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildProgram } from "../../../src/cli/program.ts";
import { processTerminal } from "../../../src/cli/terminal/terminal.ts";
import { configSchema } from "../../../src/config/schema.ts";
import { keyOn, start } from "../../gateway/demo-gateway.ts";
import { temporaryFolder } from "../../store/fixtures.ts";
import { commandLinePage } from "./command-line.ts";
import { configurationPage, type Schema } from "./configuration.ts";
import { metricsPage } from "./metrics.ts";

/** The pages of docs/reference that follow from definitions of the program. */
export async function referencePages(): Promise<Readonly<Record<string, string>>> {
  // As a program reads it, so that a page has what `sluice config schema` prints.
  const schema = JSON.parse(JSON.stringify(configSchema)) as Schema;
  return {
    "configuration.md": configurationPage(schema),
    "cli.md": commandLinePage(buildProgram(processTerminal())),
    "metrics.md": metricsPage(await scrape()),
  };
}

/** Metrics of a gateway that has answered, failed and has a shared account, so that every metric has its labels. */
async function scrape(): Promise<string> {
  using folder = temporaryFolder();
  const token = join(folder.dir, "token");
  writeFileSync(token, "only-for-the-pages-of-the-reference-0000", { mode: 0o600 });
  const gateway = await start(folder.dir, "data", `[admin]\ntoken = "file:${token}"\n[content]\n`);
  try {
    const { secret } = await keyOn(gateway);
    const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
    for (const content of ["Hello", "fail 500"]) {
      const body = JSON.stringify({ model: "m", messages: [{ role: "user", content }] });
      await (await fetch(`${gateway.url}/v1/chat/completions`, { method: "POST", headers, body })).text();
    }
    const admin = {
      "content-type": "application/json",
      authorization: `Bearer ${readFileSync(token, "utf8")}`,
    };
    const account = JSON.stringify({
      mode: "credit",
      label: "team",
      credit: 5,
      caps: [{ amount: 5, period: "day" }],
    });
    await fetch(`${gateway.url}/admin/api/v1/accounts`, { method: "POST", headers: admin, body: account });
    return await (await fetch(`${gateway.url}/metrics`, { headers: admin })).text();
  } finally {
    await gateway.stop();
  }
}
