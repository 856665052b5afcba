import { describe, expect, test } from "bun:test";
import { systemClock } from "../../src/base/clock.ts";
import { GatewayError } from "../../src/base/errors.ts";
import { Catalog } from "../../src/catalog/catalog.ts";
import { loadSettings } from "../../src/config/load.ts";
import type { ClientCall } from "../../src/gateway/exchange/client-call.ts";
import { Exchange } from "../../src/gateway/exchange/exchange.ts";
import { Ongoing, type OngoingLimits } from "../../src/gateway/exchange/ongoing.ts";
import { clientOrigin } from "../../src/gateway/exchange/origin.ts";
import { routes } from "../../src/gateway/operations.ts";
import { createLogs } from "../../src/observe/log.ts";
import { Upstream } from "../../src/upstream/providers.ts";

const { settings } = loadSettings({ env: {}, cwd: import.meta.dir, flags: {} });
const upstream = new Upstream({ settings, clock: systemClock, log: createLogs(settings.log).log });
const configured = { settings, catalog: Catalog.from(settings), upstream };

const free: OngoingLimits = { maxConcurrent: () => 100, maxPerKey: () => null, lagMs: () => 0 };

function exchange(signal: AbortSignal | null = null): Exchange {
  const route = routes[0];
  if (route === undefined) throw new Error("there are no routes");
  const call: ClientCall = {
    request: new Request("http://localhost/", { signal }),
    route,
    address: "127.0.0.1",
    origin: clientOrigin,
    isForwarded: false,
    keepWaiting: () => undefined,
    disconnect: () => undefined,
  };
  return new Exchange(call, { clock: systemClock, configured });
}

async function refusalOf(entering: Promise<void>): Promise<GatewayError> {
  try {
    await entering;
  } catch (error) {
    if (error instanceof GatewayError) return error;
  }
  throw new Error("it was not refused");
}

describe("new work", () => {
  test("beyond the limit in all waits for a place, and gets it when one is free", async () => {
    const ongoing = new Ongoing({ ...free, maxConcurrent: () => 1 });
    const first = exchange();
    await ongoing.enter(first, "key_a");
    const waiting = ongoing.enter(exchange(), "key_b");
    ongoing.leave(first, "key_a");
    await waiting;
    expect(ongoing.size).toBe(1);
  });

  test("is refused with 503 when no place gets free in time", async () => {
    const ongoing = new Ongoing({ ...free, maxConcurrent: () => 1 });
    await ongoing.enter(exchange(), "key_a");
    expect((await refusalOf(ongoing.enter(exchange(), "key_b"))).code).toBe("service_unavailable");
  });

  test("beyond the limit of its key is refused with 503, and others are not", async () => {
    const ongoing = new Ongoing({ ...free, maxConcurrent: () => 2, maxPerKey: () => 1 });
    await ongoing.enter(exchange(), "key_a");
    expect((await refusalOf(ongoing.enter(exchange(), "key_a"))).retryAfterSeconds).toBe(1);
    await ongoing.enter(exchange(), "key_b");
    expect(ongoing.size).toBe(2);
  });

  test("that finds a place needs no wait, and takes nothing where it finds none", async () => {
    const ongoing = new Ongoing({ ...free, maxConcurrent: () => 2, maxPerKey: () => 1 });
    const first = exchange();
    expect(ongoing.tryEnter(first, "key_a")).toBe(true);
    expect(ongoing.tryEnter(exchange(), "key_a")).toBe(false);
    expect(ongoing.tryEnter(exchange(), "key_b")).toBe(true);
    expect(ongoing.tryEnter(exchange(), "key_c")).toBe(false);
    expect(ongoing.size).toBe(2);
    ongoing.leave(first, "key_a");
    expect(ongoing.tryEnter(exchange(), "key_a")).toBe(true);
    ongoing.isDraining = true;
    expect(() => ongoing.tryEnter(exchange(), "key_d")).toThrow(GatewayError);
  });

  test("is shed with 503 while the event loop is far behind", async () => {
    let lagMs = 5000;
    const ongoing = new Ongoing({ ...free, lagMs: () => lagMs });
    expect((await refusalOf(ongoing.enter(exchange(), "key_a"))).code).toBe("service_unavailable");
    lagMs = 10;
    await ongoing.enter(exchange(), "key_a");
  });
});

test("leaving twice frees one place", async () => {
  const ongoing = new Ongoing({ ...free, maxConcurrent: () => 2 });
  const [first, second] = [exchange(), exchange()];
  await ongoing.enter(first, "key_a");
  await ongoing.enter(second, "key_a");
  ongoing.leave(first, "key_a");
  ongoing.leave(first, "key_a");
  expect(ongoing.size).toBe(1);
  await ongoing.enter(exchange(), "key_a");
  expect((await refusalOf(ongoing.enter(exchange(), "key_a"))).code).toBe("service_unavailable");
});

test("draining waits for the last exchange, and says when it took too long", async () => {
  const ongoing = new Ongoing(free);
  const last = exchange();
  await ongoing.enter(last, "key_a");
  expect(await ongoing.drained(1)).toBe(false);
  const drained = ongoing.drained(10_000);
  ongoing.leave(last, "key_a");
  expect(await drained).toBe(true);
});

describe("a gateway that goes down", () => {
  const goingDown = new GatewayError("service_unavailable", "The gateway is shutting down.");

  test("refuses at once what waits for a place, which takes none", async () => {
    const ongoing = new Ongoing({ ...free, maxConcurrent: () => 1 });
    const first = exchange();
    await ongoing.enter(first, "key_a");
    const waiting = refusalOf(ongoing.enter(exchange(), "key_b"));
    ongoing.interruptAll(goingDown);
    expect(await waiting).toBe(goingDown);
    ongoing.leave(first, "key_a");
    expect(ongoing.size).toBe(0);
    expect(await ongoing.drained(0)).toBe(true);
    await ongoing.enter(exchange(), "key_c");
  });

  test("refuses what got its place in the very moment", async () => {
    const ongoing = new Ongoing({ ...free, maxConcurrent: () => 1 });
    const first = exchange();
    await ongoing.enter(first, "key_a");
    const second = exchange();
    const waiting = refusalOf(ongoing.enter(second, "key_b"));
    ongoing.leave(first, "key_a");
    second.end(goingDown);
    expect(await waiting).toBe(goingDown);
    await ongoing.enter(exchange(), "key_c");
    expect(ongoing.size).toBe(1);
  });

  test("waits for what takes no place, and ends it like anything else", async () => {
    const ongoing = new Ongoing(free);
    const counting = exchange();
    const work = Promise.withResolvers<string>();
    const result = ongoing.withoutSlot(counting, () => work.promise);
    expect(await ongoing.drained(1)).toBe(false);
    ongoing.interruptAll(goingDown);
    expect(counting.signal.reason).toBe(goingDown);
    const drained = ongoing.drained(10_000);
    work.resolve("counted");
    expect(await result).toBe("counted");
    expect(await drained).toBe(true);
  });

  test("ends in-band what can be, and the others as a whole", async () => {
    const ongoing = new Ongoing(free);
    const [stream, whole] = [exchange(), exchange()];
    await ongoing.enter(stream, "key_a");
    await ongoing.enter(whole, "key_a");
    const told: GatewayError[] = [];
    stream.pump = { isStalled: false, check() {}, interrupt: (error) => void told.push(error) };
    ongoing.interruptAll(goingDown);
    expect(told).toEqual([goingDown]);
    expect([stream.endedBy, whole.endedBy]).toEqual([null, goingDown]);
    expect([stream.isOver, whole.isOver]).toEqual([false, true]);
  });
});

test("an exchange's signal fires for a client that leaves before or after it was asked for", () => {
  const client = new AbortController();
  const [early, late] = [exchange(client.signal), exchange(client.signal)];
  const { signal } = early;
  expect(signal.aborted).toBe(false);
  client.abort();
  expect([signal.aborted, late.signal.aborted, early.isOver]).toEqual([true, true, true]);
});

test("an exchange that outlives its client is ended by the gateway only, also where it was waited for before that was known", () => {
  const leaving = new AbortController();
  const outliving = exchange(leaving.signal);
  const { signal } = outliving;
  outliving.outlivesClient = true;
  leaving.abort();
  expect(signal.aborted).toBe(false);
  outliving.end(new GatewayError("service_unavailable", "The gateway is shutting down."));
  expect(signal.aborted).toBe(true);
});
