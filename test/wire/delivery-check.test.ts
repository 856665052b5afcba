import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { DeliveryCheck } from "../../src/wire/delivery-check.ts";

const isLinux = process.platform === "linux";

function openDescriptors(): number {
  return readdirSync("/proc/self/fd").length;
}

test.skipIf(!isLinux)("a check that is over keeps no descriptor, however it ended", async () => {
  using server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const socket = await Bun.connect({ hostname: "127.0.0.1", port: server.port, socket: { data() {} } });
  const before = openDescriptors();
  const begin = (sentBytes: number) => {
    const check = DeliveryCheck.begin(socket, sentBytes);
    if (check === null) throw new Error("Linux can tell");
    return check;
  };
  // Nothing is queued, so bytes that were sent have arrived.
  expect(await begin(10).receivedNothing(performance.now() + 1000)).toBe(false);
  expect(openDescriptors()).toBe(before);
  // Nothing was sent, and nothing happens until the deadline.
  expect(await begin(0).receivedNothing(performance.now() - 1)).toBe(false);
  expect(openDescriptors()).toBe(before);
  // Ended from outside.
  const check = begin(0);
  const checking = check.receivedNothing(performance.now() + 60_000);
  expect(openDescriptors()).toBe(before + 1);
  check.release();
  expect(await checking).toBe(false);
  expect(openDescriptors()).toBe(before);
  socket.end();
});
