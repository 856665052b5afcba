import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { RawClient } from "../chaos/raw-client.ts";
import { sse } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { startProvider } from "../support/provider.ts";
import { type Sluice, startSluice } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

const isCompiled = process.env["SLUICE_TEST_TARGET"] === "executable";
const readers = 200;
const ask = { model: "gpt-test", stream: true, messages: [{ role: "user", content: "Hello" }] };
const filler = `data: {"choices":[{"index":0,"delta":{"content":"${"x".repeat(50_000)}"},"finish_reason":null}]}\n\n`;

function residentMiB({ pid }: Sluice): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
  return Number(kilobytes) / 1024;
}

/** Until the memory of the start is given back. */
async function settle(sluice: Sluice): Promise<void> {
  let lastMiB = 0;
  for (let quiet = 0; quiet < 8; ) {
    await Bun.sleep(250);
    const nowMiB = residentMiB(sluice);
    quiet = Math.abs(nowMiB - lastMiB) < 2 ? quiet + 1 : 0;
    lastMiB = nowMiB;
  }
}

// Memory is measured in the executable only: a development runtime has other things in mind.
test.if(isCompiled)(
  `${readers} stalled readers of floods that are recorded take less than 300 MiB once all are stuck`,
  async () => {
    const provider = startProvider(() => ({
      ...sse(""),
      steps: Array.from({ length: 400 }, () => ({ write: filler })),
    }));
    const head = "[server]\nclient_idle_timeout = 600\nmax_concurrent = 5000\n[content]";
    const sluice = await startSluice({
      config: configFor({ url: provider.url, head }),
      // Memory is measured as in production.
      env: { BUN_JSC_useDFGJIT: "1" },
    });
    const clients: RawClient[] = [];
    try {
      const key = await sluice.createKey({ credit: 1_000_000 });
      await settle(sluice);
      const beforeMiB = residentMiB(sluice);
      for (let index = 0; index < readers; index += 1)
        clients.push(await RawClient.send(sluice.url, key, ask, { stalled: true }));
      await waitFor(() => provider.requests.length === readers, "all to be asked", 60_000);
      await Bun.sleep(2000);
      // Nothing else is sent: what is only garbage must go by itself.
      const grownMiB = () => residentMiB(sluice) - beforeMiB;
      await waitFor(() => grownMiB() < 300, "the memory to be returned", 60_000);
      console.log(`${readers} stalled readers of recorded floods: ${Math.round(grownMiB())} MiB more`);
      expect(provider.requests.every(({ finishedAtMs }) => finishedAtMs === null)).toBe(true);
    } finally {
      for (const client of clients) client.cut();
      await sluice.dispose();
      provider.stop();
    }
  },
  180_000,
);
