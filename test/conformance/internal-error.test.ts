import { afterAll, beforeAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { createKey } from "../../src/admin/keys/create-key.ts";
import { type RunningGateway, startGateway } from "../../src/app/start.ts";
import { systemClock } from "../../src/base/clock.ts";
import { loadSettings } from "../../src/config/load.ts";
import { newFolder } from "../support/new-folder.ts";
import { waitFor } from "../support/wait.ts";
import { expectError, generationRoutes } from "./requests.ts";

/** A bug cannot be provoked from outside, so this one gateway runs in the test's own process and gets one. */
let running: RunningGateway;
const folder = newFolder();

beforeAll(async () => {
  const env = { SLUICE_DATA: folder, SLUICE_LOG_LEVEL: "silent" };
  const { settings } = loadSettings({ env, cwd: folder, flags: { host: "127.0.0.1", port: 0 } });
  running = await startGateway({ settings });
});

afterAll(async () => {
  await running.stop();
  rmSync(folder, { recursive: true });
});

test("7.2 internal_error: an unexpected failure of the gateway says nothing of itself, in both formats", async () => {
  const { secret } = await createKey({ store: running.store, clock: systemClock }, { mode: "token_budget" });
  const headers = { authorization: `Bearer ${secret}` };
  const ask = (path: string, body?: unknown) =>
    fetch(`${running.url}/token${path}`, {
      headers,
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    });
  await waitFor(async () => (await ask("/v1/models")).status === 200, "the key to be known");
  running.gateway.configured = {
    ...running.gateway.configured,
    get catalog(): never {
      throw new Error("canary: somebody made a mistake");
    },
  };
  const broken = await ask("/v1/models");
  expect((await expectError(broken, "internal_error", "A")).message).not.toContain("canary");
  for (const { path, body, format } of generationRoutes) {
    const { message } = await expectError(await ask(path, body), "internal_error", format);
    expect(message).not.toContain("canary");
  }
});
