import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type RunningGateway, startGateway } from "../../src/app/start.ts";
import { systemClock } from "../../src/base/clock.ts";
import { nanoPerCredit } from "../../src/base/money/money.ts";
import { loadSettings } from "../../src/config/load.ts";
import { issueKey } from "../../src/keys/issue.ts";

const demo =
  '[providers.demo]\nkind = "demo"\n[[models]]\nid = "m"\nprovider = "demo"\nprice = { input = 1, output = 1 }\n';

/** A gateway before the demo's model `m`, with a data folder of this name. Several may share a store. */
export function start(dir: string, name: string, head = ""): Promise<RunningGateway> {
  const file = join(dir, "sluice.toml");
  writeFileSync(file, head + demo);
  const flags = { port: 0, data: join(dir, name) };
  const { settings } = loadSettings({ file, env: { SLUICE_LOG_LEVEL: "silent" }, flags });
  return startGateway({ settings });
}

export async function keyOn({ store, gateway }: RunningGateway) {
  const issued = await issueKey(store, systemClock, { mode: "credit", creditNano: 100 * nanoPerCredit });
  await gateway.catchUp();
  return issued;
}
