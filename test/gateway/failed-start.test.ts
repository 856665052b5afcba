import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startGateway } from "../../src/app/start.ts";
import { systemClock } from "../../src/base/clock.ts";
import { loadSettings } from "../../src/config/load.ts";
import { openStore } from "../../src/store/open.ts";
import { freePort } from "../support/free-port.ts";
import { newFolder } from "../support/new-folder.ts";

const demo = '[providers.demo]\nkind = "demo"\n[[models]]\nid = "m"\nprovider = "demo"\nfree = true\n';

test("a start that fails at its last step closes all that it opened, and can be tried again", async () => {
  const folder = newFolder();
  const [port, adminPort, metricsPort] = [freePort(), freePort(), freePort()];
  const file = join(folder, "sluice.toml");
  writeFileSync(
    file,
    `[admin]\nlisten = "127.0.0.1:${adminPort}"\nmetrics_listen = "127.0.0.1:${metricsPort}"\n${demo}`,
  );
  const env = { SLUICE_DATA: join(folder, "data"), SLUICE_LOG_LEVEL: "silent" };
  const flags = { config: file, host: "127.0.0.1", port };
  const { settings } = loadSettings({ env, cwd: folder, flags });
  const store = await openStore({ dir: join(folder, "data"), clock: systemClock, role: "gateway" });
  await store.close();
  const database = new Database(join(folder, "data", "sluice.db"));
  database.run(
    "CREATE TRIGGER full BEFORE INSERT ON admin_token BEGIN SELECT raise(ABORT, 'the disk is full'); END",
  );
  await expect(startGateway({ settings })).rejects.toThrow("the disk is full");
  for (const left of [port, adminPort, metricsPort]) {
    await expect(fetch(`http://127.0.0.1:${left}/healthz`)).rejects.toThrow();
  }
  database.run("DROP TRIGGER full");
  database.close();
  const running = await startGateway({ settings });
  expect((await fetch(`${running.url}/healthz`)).status).toBe(200);
  expect(await running.stop()).toEqual([]);
  rmSync(folder, { recursive: true, force: true });
});
