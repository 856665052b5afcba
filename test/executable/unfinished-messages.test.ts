import { expect, test } from "bun:test";
import { residentMegabytes } from "../bench/proc.ts";
import { configFor } from "../support/config.ts";
import { startProvider } from "../support/provider.ts";
import { RawSocket } from "../support/raw-socket.ts";
import { startSluice } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

const keyCount = 12;
const socketsOfKey = 32;
const megabytes = 256;
const frameBytes = 32 * 1024;
/** A little less than the longest message. */
const frames = 8 * 32 - 1;

test(`unfinished messages of ${keyCount} keys take no more memory than there is for them`, async () => {
  const provider = startProvider();
  const head = `[server]\nmax_body_memory = ${megabytes * 1024 * 1024}\n`;
  await using sluice = await startSluice({ config: `${head}${configFor({ url: provider.url })}` });
  const before = residentMegabytes(sluice.pid);
  const opened: RawSocket[] = [];
  for (let count = 0; count < keyCount; count += 1) {
    const { key } = await sluice.createKey();
    const sockets = await Promise.all(
      Array.from({ length: socketsOfKey }, () => RawSocket.open(sluice.url, key)),
    );
    opened.push(...sockets.filter(({ latest }) => latest.startsWith("HTTP/1.1 101 ")));
    for (const { latest } of sockets) expect(latest).toMatch(/^HTTP\/1.1 (101|503) /);
  }
  expect(opened.length).toBeLessThanOrEqual(megabytes / 8);
  expect(opened.length).toBeGreaterThan(megabytes / 8 / 2);
  for (const socket of opened) socket.sendUnfinished(frames, frameBytes);
  const least = (opened.length * frames * frameBytes) / 1024 / 1024;
  const grown = () => residentMegabytes(sluice.pid) - before;
  await waitFor(() => grown() > least * 0.9, "the messages to be read", 20_000);
  const key = await sluice.createKey();
  const body = { model: "gpt-test", messages: [{ role: "user", content: "Hi" }] };
  expect((await sluice.request("/v1/chat/completions", { key, body })).status).toBe(200);
  console.log(`${opened.length} unfinished messages: ${grown().toFixed(0)} MB above ${before.toFixed(0)} MB`);
  expect(grown()).toBeLessThan(megabytes * 1.5);
  for (const socket of opened) socket[Symbol.dispose]();
  provider.stop();
}, 60_000);
