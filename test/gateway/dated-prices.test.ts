import { afterEach, expect, test } from "bun:test";
import { msPerDay, systemClock, utcDay } from "../../src/base/clock.ts";
import { audit } from "../../src/ledger/audit.ts";
import { json } from "../support/answers.ts";
import { MessageBatches } from "../support/message-batches.ts";
import { waitFor } from "../support/wait.ts";
import { BatchClient, chatLines } from "./batches/batch-world.ts";
import { onBothStores } from "./on-both-stores.ts";
import type { World } from "./world.ts";

/** The midnight after next, so that the day does not end during the tests. */
const beginsMs = (utcDay(Date.now()) + 2) * msPerDay;
const day = new Date(beginsMs).toISOString().slice(0, 10);

const prices = `[
  { input = 1.0, output = 2.0, tiers = { batch = { input = 0.5, output = 1.0 } } },
  { from = "${day}", input = 3.0, output = 6.0, tiers = { batch = { input = 1.5, output = 3.0 } } },
]`;

const tail = `
[[models]]
id = "dated"
provider = "openai"
max_output_tokens = 100
price = ${prices}

[[models]]
id = "embedded"
provider = "openai"
serves = ["embeddings"]
price = [{ input = 1.0 }, { from = "${day}", input = 3.0 }]

[[models]]
id = "native"
provider = "anthropic"
upstream_model = "claude-upstream"
max_output_tokens = 100
batch = "native"
price = ${prices}

[[models]]
id = "hearing"
provider = "openai"
context_window = 1000
max_output_tokens = 100
price = [{ input = 1.0, output = 2.0, audio_input = 5.0 }, { from = "${day}", input = 3.0, output = 6.0 }]
`;

const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
const completion = {
  ...{ id: "c", object: "chat.completion", created: 1, model: "up", usage },
  choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
};
const chat = { model: "dated", messages: [{ role: "user", content: "Hello" }] };

/** What 100 tokens of input and 10 of output cost, in millionths of a credit. */
const [before, after] = [120, 360];

onBothStores(tail, (world) => {
  afterEach(() => {
    Object.assign(world().gateway, { clock: systemClock });
  });

  /** The gateway's time of day; everything else keeps its own. */
  function setClock(wallMs: () => number): void {
    Object.assign(world().gateway, { clock: { ...systemClock, wallMs } });
  }

  /** The store has a clock of its own, so the entries are not of the gateway's time here. */
  async function differences() {
    const { differences: all } = await audit(world().running.store, { deep: true });
    return all.filter(({ field }) => field !== "at_ms");
  }

  async function cost(caller: Awaited<ReturnType<World["creditCaller"]>>): Promise<number> {
    const charges = await world().chargesOf(caller);
    return charges.reduce((sum, { amount }) => sum - amount, 0) / 1e3;
  }

  async function costOf(body: object, path = "/v1/chat/completions"): Promise<number> {
    const caller = await world().creditCaller();
    const response = await world().ask(caller, { path, body });
    expect(response.status, await response.text()).toBe(200);
    return cost(caller);
  }

  test("a dated price begins at midnight UTC of its day, without a reload", async () => {
    world().provider.script(json(completion));
    setClock(() => beginsMs - 1);
    expect(await costOf(chat)).toBe(before);
    setClock(() => beginsMs);
    expect(await costOf(chat)).toBe(after);
    expect(await differences()).toEqual([]);
  });

  test("a request that was held before it begins is charged the price of its hold", async () => {
    setClock(() => beginsMs - 1);
    const answered = Promise.withResolvers<void>();
    world().provider.script({ ...json(completion), before: [{ until: answered.promise }] });
    const caller = await world().creditCaller();
    const asked = world().provider.requests.length;
    const response = world().ask(caller, { path: "/v1/chat/completions", body: chat });
    await waitFor(() => world().provider.requests.length > asked, "the provider to be asked");
    setClock(() => beginsMs);
    await world().reload((config) => config);
    answered.resolve();
    expect((await response).status).toBe(200);
    expect(await cost(caller)).toBe(before);
    expect(await differences()).toEqual([]);
  });

  /** The price begins while requests wait for a slot. */
  async function beginningAtSlot<Result>(run: () => Promise<Result>): Promise<Result> {
    const { ongoing } = world().gateway;
    const enter = ongoing.enter.bind(ongoing);
    let nowMs = beginsMs - 1;
    setClock(() => nowMs);
    ongoing.enter = async (...call) => {
      await enter(...call);
      nowMs = beginsMs;
    };
    try {
      return await run();
    } finally {
      ongoing.enter = enter;
    }
  }

  test("a request that arrives before it begins and is held afterwards is charged the new price", async () => {
    world().provider.script(json(completion));
    expect(await beginningAtSlot(() => costOf(chat))).toBe(after);
    const vectors = {
      object: "list",
      model: "up",
      data: [{ object: "embedding", index: 0, embedding: [1] }],
    };
    world().provider.script(json({ ...vectors, usage: { prompt_tokens: 100, total_tokens: 100 } }));
    const embedded = { model: "embedded", input: "Hello" };
    expect(await beginningAtSlot(() => costOf(embedded, "/v1/embeddings"))).toBe(300);
  });

  test("what only the former price had is rejected by the price of the hold", async () => {
    world().provider.script(json(completion));
    const audio = { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } };
    const body = { model: "hearing", messages: [{ role: "user", content: [audio] }] };
    const path = "/v1/chat/completions";
    setClock(() => beginsMs - 1);
    expect((await world().ask(await world().creditCaller(), { path, body })).status).toBe(200);
    const caller = await world().creditCaller();
    const late = await beginningAtSlot(() => world().ask(caller, { path, body }));
    expect(late.status).toBe(400);
    expect(await late.text()).toContain("price.audio_input");
    expect(await cost(caller)).toBe(0);
  });

  test("lines of batches are charged the price of their hold, here and at a provider that runs them", async () => {
    const batches = new MessageBatches();
    world().provider.script((request) =>
      request.path.startsWith("/anthropic") ? batches.script(request) : json(completion),
    );
    batches.takesMs = 200;
    batches.resultOf = ({ custom_id: id }) => ({
      type: "succeeded",
      message: {
        ...{ id: `msg_${id}`, type: "message", role: "assistant", model: "up", stop_reason: "end_turn" },
        content: [{ type: "text", text: "Hi" }],
        usage: { input_tokens: 100, output_tokens: 10, service_tier: "batch" },
      },
    });
    const there = await world().creditCaller();
    const client = BatchClient.of(world(), there);
    const { id } = await client.create(chatLines(2, { model: "native" }));
    await waitFor(() => batches.linesSent.length === 2, "the lines to be sent");
    await world().reload((config) => config.replaceAll(day, "2026-01-02"));
    await client.untilEnded(id);
    // The price of batches is half.
    expect(await cost(there)).toBe(before);

    const here = await world().creditCaller();
    const own = BatchClient.of(world(), here);
    await own.untilEnded((await own.create(chatLines(2, { model: "dated" }))).id);
    expect(await cost(here)).toBe(after);
    expect(await differences()).toEqual([]);
  });
});
