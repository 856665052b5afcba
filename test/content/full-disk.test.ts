import { describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { putEmptyLedger } from "../store/sqlite/empty-ledger.ts";
import { freePort } from "../support/free-port.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { canMountSmallDisk, mountSmallDisk } from "../support/small-disk.ts";
import { waitFor } from "../support/wait.ts";

const token = "the-operators-token";
const config = (metricsPort: number) => `
[admin]
metrics_listen = "127.0.0.1:${metricsPort}"
[providers.demo]
kind = "demo"
[[models]]
id = "demo"
provider = "demo"
price = { input = 1.0, output = 1.0 }
[content]
`;

/** Words that do not compress to nothing. */
function noise(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(60_000));
  return bytes.toHex().replaceAll(/.{9}/g, "$& ");
}

async function ask(sluice: Sluice, key: TestKey, content: string): Promise<string> {
  const body = { model: "demo", messages: [{ role: "user", content }] };
  const response = await sluice.request("/v1/chat/completions", { key, body });
  const answered = (await response.json()) as { choices: { message: { content: string } }[] };
  expect(response.status).toBe(200);
  expect(response.headers.get("x-sluice-content")).toBe("recorded");
  expect(answered.choices[0]?.message.content).not.toBe("");
  return response.headers.get("x-request-id") ?? "";
}

describe.if(canMountSmallDisk)("content on a full disk of its own", () => {
  test("is dropped, counted and an alert, costs no charge and no response, and is recorded again once there is room", async () => {
    using disk = mountSmallDisk(16);
    const metricsPort = freePort();
    await using sluice = await startSluice({
      config: config(metricsPort),
      env: { SLUICE_ADMIN_TOKEN: token },
      fill: async (dataDir) => {
        putEmptyLedger(dataDir);
        mkdirSync(dataDir, { recursive: true });
        // SQLite keeps its log next to the file that a link points to.
        symlinkSync(join(disk.folder, "content.db"), join(dataDir, "content.db"));
      },
    });
    const read = async (path: string) => {
      const headers = { authorization: `Bearer ${token}` };
      const response = await sluice.request(`/admin/api/v1${path}`, { headers });
      return { status: response.status, json: (await response.json()) as Record<string, unknown> };
    };
    const hasContent = async (id: string) => (await read(`/requests/${id}/content`)).status === 200;
    const dropped = async () => {
      const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
      return Number(/^sluice_content_dropped_total (\d+)$/m.exec(text)?.[1] ?? Number.NaN);
    };
    const kinds = async () => JSON.stringify((await read("/alerts")).json);
    const key = await sluice.createKey({ credit: 1000 });

    const before = await ask(sluice, key, "Hello");
    expect(await hasContent(before)).toBe(true);
    expect(await dropped()).toBe(0);
    expect(await kinds()).not.toContain("content_dropped");

    const filler = disk.fill();
    const lost: string[] = [];
    await waitFor(async () => {
      lost.push(await ask(sluice, key, noise()));
      return (await dropped()) > 0;
    }, "content to be dropped");
    await waitFor(async () => (await kinds()).includes("content_dropped"), "the alert");
    await sluice.told("full");

    rmSync(filler);
    const after = await ask(sluice, key, "Hello again");
    await waitFor(() => hasContent(after), "content to be recorded again");
    expect(await hasContent(before)).toBe(true);
    const all = [before, ...lost, after];
    for (const id of all) {
      const { status, json } = await read(`/requests/${id}`);
      expect(status, id).toBe(200);
      expect(JSON.stringify(json), id).toContain(`"outcome":"completed"`);
    }
    const recorded = await Promise.all(lost.map(hasContent));
    expect(recorded.filter((is) => !is).length).toBe(await dropped());
    expect((await sluice.run("ledger", "audit")).code).toBe(0);
    const usage = await (await sluice.request("/v1/usage", { key })).json();
    expect(usage).toMatchObject({ requests: { total: all.length } });
  }, 120_000);
});
