import { describe, expect, test } from "bun:test";
import { systemClock } from "../../src/base/clock.ts";
import { GatewayError } from "../../src/base/errors.ts";
import { type Call, Exchange } from "../../src/gateway/exchange.ts";
import { Ongoing, type OngoingLimits } from "../../src/gateway/ongoing.ts";
import { routes } from "../../src/http/routes.ts";

const free: OngoingLimits = { maxConcurrent: () => 100, maxPerKey: () => null, lagMs: () => 0 };

function exchange(): Exchange {
  const route = routes[0];
  if (route === undefined) throw new Error("there are no routes");
  const call: Call = {
    request: new Request("http://localhost/"),
    route,
    address: "127.0.0.1",
    keepWaiting: () => undefined,
    disconnect: () => undefined,
  };
  return new Exchange(call, systemClock);
}

function refusalOf(enter: () => void): GatewayError {
  try {
    enter();
  } catch (error) {
    if (error instanceof GatewayError) return error;
  }
  throw new Error("it was not refused");
}

describe("new work", () => {
  test("is refused with 503 beyond the limit in all, and let in when a place is free", () => {
    const ongoing = new Ongoing({ ...free, maxConcurrent: () => 1 });
    const first = exchange();
    ongoing.enter(first, "key_a");
    expect(refusalOf(() => ongoing.enter(exchange(), "key_b")).code).toBe("service_unavailable");
    ongoing.leave(first, "key_a");
    ongoing.enter(exchange(), "key_b");
    expect(ongoing.size).toBe(1);
  });

  test("is refused with 503 beyond the limit of its key, and others are not", () => {
    const ongoing = new Ongoing({ ...free, maxPerKey: () => 1 });
    ongoing.enter(exchange(), "key_a");
    expect(refusalOf(() => ongoing.enter(exchange(), "key_a")).retryAfterSeconds).toBe(1);
    ongoing.enter(exchange(), "key_b");
  });

  test("is shed with 503 while the event loop is far behind", () => {
    let lagMs = 5000;
    const ongoing = new Ongoing({ ...free, lagMs: () => lagMs });
    expect(refusalOf(() => ongoing.enter(exchange(), "key_a")).code).toBe("service_unavailable");
    lagMs = 10;
    ongoing.enter(exchange(), "key_a");
  });
});

test("leaving twice frees one place", () => {
  const ongoing = new Ongoing(free);
  const [first, second] = [exchange(), exchange()];
  ongoing.enter(first, "key_a");
  ongoing.enter(second, "key_a");
  ongoing.leave(first, "key_a");
  ongoing.leave(first, "key_a");
  expect(ongoing.size).toBe(1);
});

test("draining waits for the last exchange, and says when it took too long", async () => {
  const ongoing = new Ongoing(free);
  const last = exchange();
  ongoing.enter(last, "key_a");
  expect(await ongoing.drained(1)).toBe(false);
  const drained = ongoing.drained(10_000);
  ongoing.leave(last, "key_a");
  expect(await drained).toBe(true);
});
