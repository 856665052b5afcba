import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { configFor } from "../support/config.ts";
import { isSoak } from "../support/effort.ts";
import { startProvider } from "../support/provider.ts";
import { RawSocket } from "../support/raw-socket.ts";
import { startSluice } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

const count = isSoak ? 10_000 : 1000;
const atOnce = 100;
/** Above what the gateway takes with one socket. 10,000 took 41 MB, and 119 MB after a turn on each of them. */
const megabytes = isSoak ? 300 : 80;

test(`${count} idle WebSockets take less than ${megabytes} MB, and the last one is answered`, async () => {
  const provider = startProvider();
  await using sluice = await startSluice({
    config: configFor({
      url: provider.url,
      tail: `[websocket]\nmax_connections_per_key = ${count}\nmax_connections = ${2 * count}\n`,
    }),
  });
  const { key } = await sluice.createKey();
  const idle: RawSocket[] = [];
  const open = async () => void idle.push(await RawSocket.open(sluice.url, key, offer));
  await open();
  const before = residentMegabytes(sluice.pid);
  while (idle.length < count) {
    await Promise.all(Array.from({ length: Math.min(atOnce, count - idle.length) }, open));
  }
  expect(idle.filter(({ latest }) => latest.startsWith("HTTP/1.1 101 "))).toHaveLength(count);
  const taken = residentMegabytes(sluice.pid) - before;
  console.log(`${count} idle WebSockets: ${taken.toFixed(0)} MB above ${before.toFixed(0)} MB`);
  expect(taken).toBeLessThan(megabytes);
  const last = idle.at(-1);
  last?.send({ type: "response.create", model: "gpt-test", input: "Hi" });
  await waitFor(() => last?.latest.includes('"response.completed"') === true, "an answer");
  for (const socket of idle) socket[Symbol.dispose]();
  provider.stop();
}, 300_000);

/** As Codex and the browsers do. */
const offer = ["Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits"];

function residentMegabytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
  return Number(kilobytes) / 1024;
}
