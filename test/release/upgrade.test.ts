import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { run } from "../support/process.ts";
import { startSluice } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

/** Both releases run from source here: only so can the next one know a schema that does not exist yet. */
const target = process.env["SLUICE_TEST_TARGET"];
beforeAll(() => {
  process.env["SLUICE_TEST_TARGET"] = "source";
});
afterAll(() => {
  process.env["SLUICE_TEST_TARGET"] = target ?? "source";
});
const nextRelease = { BUN_OPTIONS: `--preload ${new URL("./next-schema.ts", import.meta.url).pathname}` };

test("a folder is upgraded under load, the older program refuses it, and the copy from before leads back", async () => {
  await using sluice = await startSluice();
  const data = join(sluice.folder, "data");
  const key = await sluice.createKey({ credit: 1000 });
  const show = () => sluice.cliJson<object>("keys", "show", key.id);
  const ask = async () => {
    const body = { model: "demo-small", messages: [{ role: "user", content: "Hello" }], stream: true };
    const response = await sluice.request("/v1/chat/completions", { key, body });
    return response.status === 200 && (await response.text()).includes("[DONE]");
  };
  let isOver = false;
  let answered = 0;
  const clients = Array.from({ length: 3 }, async () => {
    while (!isOver) {
      if (await ask().catch(() => false)) answered += 1;
      else await Bun.sleep(20);
    }
  });
  await waitFor(() => answered >= 10, "answers before the upgrade");
  expect(await sluice.stop()).toBe(0);
  const before = await show();
  const answeredBefore = answered;
  await sluice.restart({ env: nextRelease });
  await waitFor(() => answered >= answeredBefore + 10, "answers after the upgrade");
  isOver = true;
  await Promise.all(clients);
  expect(await sluice.stop()).toBe(0);
  const env = { PATH: process.env["PATH"] ?? "", HOME: sluice.folder, SLUICE_DATA: data, ...nextRelease };
  expect((await run(["ledger", "audit"], { cwd: sluice.folder, env })).code).toBe(0);

  await expect(sluice.restart()).rejects.toThrow("was written by a newer Sluice");
  const [copy = ""] = readdirSync(join(data, "backups")).filter((name) => name.includes("before-schema-"));
  expect((await sluice.cli("restore", join(data, "backups", copy), "--yes")).code).toBe(0);
  await sluice.restart();
  expect(await show()).toEqual(before);
  expect(await ask()).toBe(true);
  expect((await sluice.cli("ledger", "audit")).code).toBe(0);
});
