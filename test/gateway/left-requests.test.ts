import { describe, expect, test } from "bun:test";
import { type Answer, silence, sse } from "../support/answers.ts";
import type { BodyDialectName } from "../support/body-dialects.ts";
import { StreamReader } from "../support/sse.ts";
import { waitFor } from "../support/wait.ts";
import { onBothStores } from "./on-both-stores.ts";
import { hello, paths, streamEvents, usageOf } from "./wire-answers.ts";
import type { Caller, World } from "./world.ts";

/** What a client pays that disconnects, and what it keeps of its limits. */

const content = "word ".repeat(3_000);
const chat = { ...hello("chat", "gpt-test"), messages: [{ role: "user", content }] };

async function leaveEarly(world: World, caller: Caller, body: object): Promise<number> {
  const leaving = new AbortController();
  const arriving = world.provider.nextRequest();
  const asking = world.ask(caller, { path: paths.chat, body, signal: leaving.signal });
  const status = asking.then(
    (response) => response.status,
    () => 0,
  );
  const sent = await Promise.race([arriving.then(() => 0), status]);
  leaving.abort();
  await status;
  await world.settled();
  return sent;
}

const dialects = ["chat", "responses", "messages"] as const;
const text = "Sluices keep the canal navigable.";
/** At 1 and 2 USD per million tokens, in nano-credits. */
const nano = (input: number, output: number) => input * 1_000 + output * 2_000;

const models = `
[[models]]
id = "spoken"
provider = "local"
capabilities = { reasoning = true }
context_window = 200000
max_output_tokens = 8192
price = { input = 1.0, output = 2.0 }

[[models]]
id = "thinker-messages"
provider = "anthropic"
upstream_model = "claude-sonnet-4-6"
context_window = 200000
max_output_tokens = 8192
price = { input = 1.0, output = 2.0 }

[[models]]
id = "thinker"
provider = "openai"
upstream_model = "gpt-5.6"
context_window = 200000
max_output_tokens = 8192
price = { input = 1.0, output = 2.0 }
`;
const plain = { chat: "gpt-test", responses: "gpt-test", messages: "claude-test" } as const;
const thinking = { chat: "thinker", responses: "thinker", messages: "thinker-messages" } as const;

function streaming(steps: Answer["steps"]): Answer {
  return { ...sse(""), steps };
}

/** The events up to the last text, and those behind it, with 5,000 tokens of reasoning that the client does not see. */
function cutAtLastText(dialect: BodyDialectName, word = "navigable."): [string[], string[]] {
  const events = streamEvents(dialect, { text, usage: usageOf(dialect, 100, 5_009) });
  const cut = events.findIndex((event) => event.includes(word)) + 1;
  return [events.slice(0, cut), events.slice(cut)];
}

interface Leaving {
  readonly dialect: BodyDialectName;
  readonly model: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** What the provider sends before its client disconnects at the last text, and after that. */
  readonly before: Answer["steps"];
  readonly behind: Answer["steps"];
}

/** Reads up to the last text, and disconnects. Only then the provider goes on. */
async function leaveAtLastText(world: World, caller: Caller, leaving: Leaving): Promise<void> {
  const { dialect, model, headers = {}, before, behind } = leaving;
  const gone = Promise.withResolvers<void>();
  world.provider.script(streaming([...before, { until: gone.promise }, ...behind, { stall: true }]));
  const body = hello(dialect, model, { stream: true });
  const reader = new StreamReader(await world.ask(caller, { path: paths[dialect], body, headers }));
  await reader.until("navigable.");
  const [exchange] = world.gateway.ongoing.exchanges();
  await reader.cancel();
  await waitFor(() => exchange?.call.request.signal.aborted === true, "the client to be gone");
  gone.resolve();
  await world.settled();
}

onBothStores(models, (world) => {
  test("a request that is left early keeps its input in the limit of tokens per minute, and its output comes back", async () => {
    const tpmLimits = [{ limit: 20_000, models: null }];
    const caller = await world().creditCaller(10, { tpmLimits });
    world().provider.script(silence());
    const body = { ...chat, max_tokens: 4_000 };
    // Up to 12,000 are reserved, of which each keeps 3,000.
    let left = 0;
    while (left < 10 && (await leaveEarly(world(), caller, body)) === 0) left += 1;
    expect(left).toBeWithin(3, 6);
    expect(await world().chargesOf(caller)).toEqual([]);
  });

  describe.each(dialects)("a %s stream that is left at its last text", (dialect) => {
    const [begun, rest] = cutAtLastText(dialect);
    const before = [{ write: begun.join("") }];
    const ended = { write: rest.join("") };
    const paidInFull = [
      { amount: -nano(100, 5_009), basis: "measured" as const, outcome: "cancelled" as const },
    ];

    test.each([30, 150, 1_000])(
      "costs its hidden reasoning, where the model reasons (usage after %d ms)",
      async (pauseMs) => {
        const caller = await world().creditCaller();
        const behind = [{ sleepMs: pauseMs }, ended];
        await leaveAtLastText(world(), caller, { dialect, model: thinking[dialect], before, behind });
        expect(await world().chargesOf(caller)).toEqual(paidInFull);
      },
    );

    test("is read on for at least twice its longest gap, where the model is not known to reason", async () => {
      const caller = await world().creditCaller();
      const words = begun.flatMap((event) => [{ sleepMs: 150 }, { write: event }]);
      const behind = [{ sleepMs: 200 }, ended];
      await leaveAtLastText(world(), caller, { dialect, model: plain[dialect], before: words, behind });
      expect(await world().chargesOf(caller)).toEqual(paidInFull);
    });

    test("is read on although comments come before the usage", async () => {
      const caller = await world().creditCaller();
      const comments = Array.from({ length: 10 }, () => [{ write: ": busy\n\n" }, { sleepMs: 15 }]).flat();
      await leaveAtLastText(world(), caller, {
        dialect,
        model: thinking[dialect],
        before,
        behind: [{ sleepMs: 15 }, ...comments, ended],
      });
      expect(await world().chargesOf(caller)).toEqual(paidInFull);
    });
  });

  test("a text that goes on is not read to its end, even where the model reasons", async () => {
    const caller = await world().creditCaller();
    const [begun] = cutAtLastText("chat");
    const [, word = ""] = begun;
    const behind = Array.from({ length: 100 }, () => [{ sleepMs: 20 }, { write: word }]).flat();
    const before = [{ write: begun.join("") }];
    await leaveAtLastText(world(), caller, { dialect: "chat", model: "thinker", before, behind });
    await waitFor(() => world().provider.aborted.length === 1, "the provider to be stopped");
    expect(-((await world().chargesOf(caller))[0]?.amount ?? 0)).toBeLessThan(nano(20, 40));
  });

  // The events that open a stream of responses report no usage.
  describe.each(["chat", "messages"] as const)(
    "a %s stream that is left while its opening waits for content",
    (dialect) => {
      test("costs what the opening has reported", async () => {
        const firstUsage = usageOf(dialect, 100, 0);
        const [opening = ""] = streamEvents(dialect, { text, firstUsage });
        world().provider.script(streaming([{ write: opening }, { stall: true }]));
        const caller = await world().creditCaller();
        const leaving = new AbortController();
        const arriving = world().provider.nextRequest();
        const body = hello(dialect, plain[dialect], { stream: true });
        const asking = world()
          .ask(caller, { path: paths[dialect], body, signal: leaving.signal })
          .catch(() => null);
        await arriving;
        await Bun.sleep(300);
        leaving.abort();
        expect(await asking).toBeNull();
        expect(await world().chargesOf(caller)).toEqual([
          { amount: -nano(100, 0), basis: "estimated", outcome: "cancelled" },
        ]);
        expect(world().provider.aborted).toHaveLength(1);
      });
    },
  );

  describe.each(dialects)("a %s stream with an idempotency key that is left at its last text", (dialect) => {
    const [begun, rest] = cutAtLastText(dialect);
    const headers = { "idempotency-key": `left-${dialect}` };

    test("is paid once, and its retry is replayed whole", async () => {
      const model = thinking[dialect];
      const caller = await world().creditCaller();
      // The events come one by one, so that the usage is known before the end.
      const behind = rest.flatMap((event) => [{ sleepMs: 15 }, { write: event }]);
      const before = [{ write: begun.join("") }];
      await leaveAtLastText(world(), caller, { dialect, model, headers, before, behind });
      const ask = { path: paths[dialect], body: hello(dialect, model, { stream: true }), headers };
      const retried = await world().ask(caller, ask);
      expect([retried.status, retried.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
      const replayed = await retried.text();
      for (const event of [...begun, ...rest]) {
        const isHidden = dialect === "chat" && event.includes('"usage"');
        if (dialect !== "responses") expect(replayed.includes(event)).toBe(!isHidden);
      }
      expect(replayed).toContain(
        { chat: "[DONE]", responses: "response.completed", messages: "message_stop" }[dialect],
      );
      expect(await world().chargesOf(caller)).toEqual([
        { amount: -nano(100, 5_009), basis: "measured", outcome: "cancelled" },
      ]);
      expect(world().provider.requests).toHaveLength(1);
    });
  });

  test("a response that was read to its end for a retry can be continued", async () => {
    const [begun, rest] = cutAtLastText("chat");
    const headers = { "idempotency-key": "continued" };
    const caller = await world().creditCaller();
    const before = [{ write: begun.join("") }];
    const behind = [{ sleepMs: 40 }, { write: rest.join("") }];
    const leaving = { dialect: "responses", model: "spoken", headers, before, behind } as const;
    await leaveAtLastText(world(), caller, leaving);
    const body = hello("responses", "spoken", { stream: true });
    const retried = await world().ask(caller, { path: paths.responses, body, headers });
    expect(retried.headers.get("idempotent-replayed")).toBe("true");
    const replayed = await retried.text();
    const id = /"id":"(resp_[^"]+)"/.exec(replayed)?.[1];
    expect(replayed).toContain("response.completed");
    world().provider.script(null);
    const more = { ...hello("responses", "spoken"), previous_response_id: id };
    const continued = await world().ask(caller, { path: paths.responses, body: more });
    expect(continued.status).toBe(200);
    expect(world().provider.requests.at(-1)?.text).toContain("navigable.");
  });
});
