import { afterAll, beforeAll, expect, test } from "bun:test";
import { constants } from "node:os";
import { join } from "node:path";
import { configFor } from "../support/config.ts";
import { answerFrom } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { canRecordDisk, recordDisk } from "../support/recorded-disk/recorded-disk.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";

let provider: ScriptedProvider;

beforeAll(() => {
  provider = startProvider();
});
afterAll(() => provider.stop());

const ask = { model: "gpt-test", messages: [{ role: "user", content: "Hello" }] };

/** The message of a response that says that the request has failed; null for any other, and for none. */
async function failureOf(sluice: Sluice, key: TestKey): Promise<string | null> {
  try {
    const response = await sluice.request("/v1/chat/completions", { key, body: ask });
    const text = await response.text();
    return response.status === 500 ? text : null;
  } catch {
    return null;
  }
}

/** Whether the client got a whole response. */
async function hasResponse(sluice: Sluice, key: TestKey): Promise<boolean> {
  try {
    const response = await sluice.request("/v1/chat/completions", { key, body: ask });
    await response.text();
    return response.status === 200;
  } catch {
    return false;
  }
}

test.skipIf(!canRecordDisk)(
  "a gateway whose disk fails to sync acknowledges nothing more and ends; the next start has all that was acknowledged",
  async () => {
    provider.script(answerFrom("chat/text.json"));
    await using sluice = await startSluice({ config: configFor({ url: provider.url }) });
    const key = await sluice.createKey();
    expect(await sluice.stop()).toBe(0);
    using disk = recordDisk(join(sluice.folder, "data", "sluice.db"));
    await sluice.restart({ env: disk.env });
    for (let asked = 0; asked < 3; asked += 1) expect(await hasResponse(sluice, key)).toBe(true);

    disk.failSyncs(constants.errno.EIO);
    expect(await hasResponse(sluice, key)).toBe(false);
    expect(await sluice.exited).toBe(1);
    expect(sluice.output).toContain("The disk failed to sync the ledger.");

    disk.failSyncs(0);
    await sluice.restart({ env: disk.env });
    expect(await hasResponse(sluice, key)).toBe(true);
    const audit = await sluice.run("ledger", "audit");
    expect(audit.code).toBe(0);
    const shown = await sluice.cliJson<{ recorded_requests: number }>("keys", "show", key.id);
    expect([4, 5]).toContain(shown.recorded_requests);
  },
  60_000,
);

test.skipIf(!canRecordDisk)(
  "a request whose charge may be on the disk that failed to sync says that it may be charged",
  async () => {
    provider.script(answerFrom("chat/text.json"));
    await using sluice = await startSluice({ config: configFor({ url: provider.url }) });
    const key = await sluice.createKey();
    expect(await sluice.stop()).toBe(0);
    using disk = recordDisk(join(sluice.folder, "data", "sluice.db"));
    await sluice.restart({ env: disk.env });
    expect(await hasResponse(sluice, key)).toBe(true);

    disk.failSyncs(constants.errno.EIO);
    const failures = await Promise.all(Array.from({ length: 10 }, () => failureOf(sluice, key)));
    expect(await sluice.exited).toBe(1);
    const told = failures.filter((failure) => failure !== null);
    expect(told.length).toBeGreaterThan(0);
    for (const text of told) expect(text).toContain("may still be charged");
  },
  60_000,
);
