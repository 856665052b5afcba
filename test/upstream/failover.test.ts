import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import type { OpenedCall } from "../../src/upstream/upstream.ts";
import { type Answer, cutAfter, hangUp, json, openAiError, text } from "../support/answers.ts";
import { FakeClock } from "../support/clock.ts";
import { answerFrom } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { answerWith, TestServer } from "../wire/server.ts";
import { nobody, type Setup, setUp } from "./fixtures.ts";

let first: ScriptedProvider;
let second: ScriptedProvider;

beforeEach(() => {
  first = startProvider();
  second = startProvider();
});

afterEach(() => {
  first.stop();
  second.stop();
});

const good = json({ id: "x" });

async function nameOf(opening: Promise<OpenedCall>): Promise<string> {
  const opened = await opening;
  opened.finished("completed");
  return opened.deployment.name;
}

function inTurn(): Setup {
  return setUp([{ url: first.url }, { url: second.url, priority: 2 }]);
}

describe("another deployment answers when the first", () => {
  const faults: [string, Answer, boolean?][] = [
    ["fails with 500", openAiError(500, "oops")],
    ["is busy", openAiError(429, "slow down", null, { "retry-after": "5" })],
    ["is overloaded", openAiError(529, "overloaded")],
    ["does not know the key", openAiError(401, "who are you")],
    ["does not know the model", openAiError(404, "no such model")],
    ["hangs up", hangUp()],
    ["talks HTML", text("<html>", "text/html")],
    ["sends half a body", text('{"id":', "application/json")],
    ["sends an error as its body", openAiError(200, "no")],
    ["breaks off a stream before its first frame", cutAfter(answerFrom("chat/text.sse"), 3), true],
  ];
  for (const [what, answer, stream = false] of faults) {
    test(what, async () => {
      first.script(answer);
      if (!stream) second.script(good);
      const { upstream, plan } = inTurn();
      const opened = await upstream.open(plan({ stream, body: JSON.stringify({ stream }) }));
      expect(opened.deployment.name).toBe("p1/real");
      expect(opened.attempts).toBe(2);
      expect(second.requests).toHaveLength(1);
      opened.abort();
    });
  }

  test("is not there", async () => {
    second.script(good);
    const { upstream, plan } = setUp([{ url: nobody }, { url: second.url, priority: 2 }]);
    expect(await nameOf(upstream.open(plan()))).toBe("p1/real");
  });
});

describe("no other deployment is asked", () => {
  test("when the request itself is wrong", async () => {
    first.script(openAiError(400, "bad"));
    const { upstream, plan } = inTurn();
    await expect(upstream.open(plan())).rejects.toMatchObject({ code: "invalid_request" });
    expect(first.requests).toHaveLength(1);
    expect(second.requests).toHaveLength(0);
  });

  test("when the request cannot be made for the first", async () => {
    const { upstream, plan } = inTurn();
    const prepare = () => {
      throw new GatewayError("invalid_request", "cannot be said there");
    };
    await expect(upstream.open(plan({ prepare }))).rejects.toMatchObject({ message: "cannot be said there" });
    expect(first.requests).toHaveLength(0);
    expect(upstream.health()).toMatchObject([{ inFlight: 0 }, { inFlight: 0 }]);
  });

  test("when the request cannot be made once more, for another key of the first", async () => {
    first.script(openAiError(401, "who are you"));
    const { upstream, plan } = setUp([{ url: first.url, apiKeys: ["a", "b"], maxConcurrent: 1 }]);
    const usual = plan();
    let made = 0;
    const prepare: typeof usual.prepare = (deployment) => {
      made += 1;
      if (made > 1) throw new GatewayError("invalid_request", "cannot be said twice");
      return usual.prepare(deployment);
    };
    await expect(upstream.open({ ...usual, prepare })).rejects.toMatchObject({
      message: "cannot be said twice",
    });
    expect(upstream.health()).toMatchObject([{ inFlight: 0 }]);
    first.script(good);
    expect(await nameOf(upstream.open(plan()))).toBe("p0/real");
  });

  test("outside the key's scope", async () => {
    first.script(openAiError(500, "oops"));
    second.script(good);
    const { upstream, plan } = setUp(
      [{ url: first.url }, { url: second.url }, { url: second.url, model: "other" }],
      {
        fallbacks: ["other"],
      },
    );
    await expect(upstream.open(plan({ scope: "p0" }))).rejects.toMatchObject({ code: "upstream_error" });
    expect(await nameOf(upstream.open(plan({ scope: "p1" })))).toBe("p1/real");
    expect(await nameOf(upstream.open(plan({ scope: "p2" })))).toBe("p2/real");
    await expect(upstream.open(plan({ scope: "p9" }))).rejects.toMatchObject({
      code: "provider_unavailable",
    });
  });
});

describe("the order", () => {
  test("lower priority numbers first, wherever they stand", async () => {
    first.script(good);
    second.script(good);
    const { upstream, plan } = setUp([
      { url: first.url, priority: 2 },
      { url: second.url, priority: 1 },
    ]);
    for (let turn = 0; turn < 5; turn += 1) expect(await nameOf(upstream.open(plan()))).toBe("p1/real");
  });

  test("the model's fallbacks last, with their own deployment in hand", async () => {
    first.script(openAiError(503, "busy"));
    second.script(good);
    const { upstream, plan } = setUp([{ url: first.url }, { url: second.url, model: "spare" }], {
      fallbacks: ["spare"],
    });
    const opened = await upstream.open(plan());
    expect(opened.deployment.model.id).toBe("spare");
    opened.finished("completed");
    await expect(upstream.open(plan({ modelId: "spare", scope: "p0" }))).rejects.toMatchObject({
      code: "provider_unavailable",
    });
  });

  test("a fault that may pass is asked about once more when nobody else is left", async () => {
    first.script([openAiError(500, "oops"), good]);
    const { upstream, plan } = setUp([{ url: first.url }]);
    expect((await upstream.open(plan())).attempts).toBe(2);
  });
});

test("a connection that was closed meanwhile costs nothing but a fresh one", async () => {
  using server = new TestServer(
    (peer) => void peer.write(answerWith("{}", "content-type: application/json\r\n")),
  );
  const { upstream, plan, log } = setUp([{ url: `http://127.0.0.1:${server.port}` }]);
  (await upstream.open(plan())).finished("completed");
  server.peer(0).reset();
  expect((await upstream.open(plan())).attempts).toBe(1);
  expect(server.peers.map(({ requests }) => requests.length)).toEqual([1, 1]);
  expect(log).toEqual([]);
});

describe("the retry budget", () => {
  test("keeps retries at a fifth of the requests when everything fails", async () => {
    first.script(openAiError(418, "never"));
    second.script(openAiError(418, "never"));
    const { upstream, plan } = inTurn();
    const calls = 200;
    for (let call = 0; call < calls; call += 1) await upstream.open(plan()).catch(() => null);
    const attempts = first.requests.length + second.requests.length;
    expect(attempts).toBeLessThanOrEqual(calls * 1.2 + 10);
  });

  test("with one of two failing at random, nobody notices and retries stay within it", async () => {
    let seed = 1;
    const chance = () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    first.script(() => (chance() < 0.5 ? openAiError(500, "oops") : good));
    second.script(good);
    const { upstream, plan } = setUp([{ url: first.url }, { url: second.url }], { random: chance });
    const calls = 1000;
    let failures = 0;
    for (let call = 0; call < calls; call += 1) {
      await nameOf(upstream.open(plan())).catch(() => {
        failures += 1;
      });
    }
    expect(failures).toBe(0);
    expect(first.requests.length + second.requests.length).toBeLessThanOrEqual(calls * 1.2);
  });
});

test("a deployment that fails more often than retries can mend is asked last, until that is long ago", async () => {
  const clock = new FakeClock();
  let call = 0;
  first.script(() => (++call % 4 === 0 ? openAiError(500, "oops") : good));
  second.script(good);
  const { upstream, plan } = setUp([{ url: first.url }, { url: second.url, priority: 2 }], {
    clock,
  });
  for (let asked = 0; asked < 12; asked += 1) await nameOf(upstream.open(plan()));
  expect(await nameOf(upstream.open(plan()))).toBe("p1/real");
  expect(upstream.health()[0]?.state).toBe("closed");
  clock.advance(31_000);
  expect(await nameOf(upstream.open(plan()))).toBe("p0/real");
});
