import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import type { GatewayError } from "../../src/base/errors.ts";
import { type Dial, dialByBun } from "../../src/wire/http-client.ts";
import { delayed, json, silence } from "../support/answers.ts";
import { FakeClock } from "../support/clock.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { waitFor } from "../support/wait.ts";
import { answerWith, TestServer } from "../wire/server.ts";
import { setUp } from "./fixtures.ts";

/** A host that swallows packets: connections to it neither stand nor fail. */
const swallow = () => new Promise(() => {});

let provider: ScriptedProvider;

beforeEach(() => {
  provider = startProvider();
});

afterEach(() => provider.stop());

const good = json({ id: "x" });
const timeouts = { connectMs: 50, firstByteMs: 200 };

describe("a provider that is not connected to yet", () => {
  test("and cannot be in time is given up, and another is asked", async () => {
    const other = startProvider(good);
    const places = [
      { url: provider.url, timeouts },
      { url: other.url, priority: 2 },
    ];
    const dial: Dial = (target, connection) =>
      other.url.endsWith(`:${target.port}`) ? dialByBun(target, connection) : swallow();
    const { upstream, plan } = setUp(places, { dial });
    const opened = await upstream.open(plan());
    expect(opened.deployment.name).toBe("p1/real");
    opened.finished("completed");
    other.stop();
  });

  test("and cannot be is unavailable, not slow", async () => {
    const { upstream, plan } = setUp([{ url: provider.url, timeouts }], { dial: swallow });
    const error = await upstream.open(plan({ clientDialect: "messages" })).catch((it: GatewayError) => it);
    expect(error).toMatchObject({ status: 502, code: "provider_unavailable" });
  });

  test("because the one it had was closed meanwhile, is given up just as soon", async () => {
    let error = await askAfterReset();
    // The request is resent only if the reset is seen within 50 ms, in which a busy machine may stand still.
    for (let round = 0; round < 20 && error.message === unanswered; round += 1) error = await askAfterReset();
    expect(error).toMatchObject({ status: 502, code: "provider_unavailable" });
  });

  test("but accepts connections may take its time to answer", async () => {
    provider.script(delayed(good, 120));
    const { upstream, plan } = setUp([{ url: provider.url, timeouts: { ...timeouts, firstByteMs: 20_000 } }]);
    expect((await upstream.open(plan())).attempts).toBe(1);
  });

  test("is too slow only by its own limit once it is connected to", async () => {
    provider.script(silence());
    const { upstream, plan } = setUp([{ url: provider.url, timeouts }]);
    const error = await upstream.open(plan({ clientDialect: "messages" })).catch((it: GatewayError) => it);
    expect(error).toMatchObject({ status: 504, code: "upstream_timeout" });
  });
});

describe("a gateway that stood still while it was connecting", () => {
  const limits = { connectMs: 400, firstByteMs: 400 };

  test("goes on from there: the provider could not be asked meanwhile", async () => {
    provider.script(good);
    const clock = new FakeClock();
    const dialing = Promise.withResolvers<void>();
    const dial: Dial = (target, connection) => dialing.promise.then(() => dialByBun(target, connection));
    const { upstream, plan } = setUp([{ url: provider.url, timeouts: limits }], { clock, dial });
    const opening = upstream.open(plan());
    clock.advance(60_000);
    await untilJudged(clock);
    dialing.resolve();
    expect((await opening).attempts).toBe(1);
    expect(provider.requests).toHaveLength(1);
  });

  test("gives up a host that does not answer, by the same limit", async () => {
    const clock = new FakeClock();
    const { upstream, plan } = setUp([{ url: provider.url, timeouts: limits }], { clock, dial: swallow });
    const opening = upstream.open(plan()).catch((it: GatewayError) => it);
    clock.advance(60_000);
    await untilJudged(clock);
    const running = setInterval(() => clock.advance(100), 20);
    expect(await opening).toMatchObject({ status: 502, code: "provider_unavailable" });
    clearInterval(running);
  });
});

const unanswered = "The provider closed the connection without a response.";

/** Asks on a connection that was reset a moment ago; another cannot be had. */
async function askAfterReset(): Promise<GatewayError> {
  using server = new TestServer(
    (peer) => void peer.write(answerWith("{}", "content-type: application/json\r\n")),
  );
  let dials = 0;
  const dial: Dial = (target, connection) => (dials++ === 0 ? dialByBun(target, connection) : swallow());
  const patiently = { connectMs: 50, firstByteMs: 20_000 };
  const url = `http://127.0.0.1:${server.port}`;
  const { upstream, plan } = setUp([{ url, timeouts: patiently }], { dial });
  (await upstream.open(plan())).finished("completed");
  server.peer(0).reset();
  return await upstream.open(plan()).then(
    () => expect.unreachable("nobody can answer"),
    (error: GatewayError) => error,
  );
}

/** The timer has looked at its clock often enough to find a deadline that has passed, and to fail its call. */
async function untilJudged(clock: FakeClock): Promise<void> {
  const looks = spyOn(clock, "monotonicMs");
  await waitFor(() => looks.mock.calls.length >= 10, "the timer to look at its clock");
}
