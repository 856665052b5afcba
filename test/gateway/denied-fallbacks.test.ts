import { expect, test } from "bun:test";
import { json } from "../support/answers.ts";
import { onBothStores } from "./on-both-stores.ts";
import { hello, paths, usageOf, wholeAnswer } from "./wire-answers.ts";

function model(id: string, price: number, more = "") {
  return `
[[models]]
id = "${id}"
provider = "openai"
upstream_model = "${id}-up"
context_window = 200000
max_output_tokens = 200000
price = { input = ${price / 20}, output = ${price} }
${more}
`;
}
const models = [
  model("house", 0.02, 'fallbacks = ["big-a", "big-b", "small"]'),
  model("big-a", 20),
  model("big-b", 20),
  model("small", 0.02),
].join("");

/** As many as may always retry within ten seconds. */
const freeRetries = 50;

onBothStores(models, (world) => {
  test("fallbacks that a cap denies leave the retries to those that may run", async () => {
    world().provider.script(({ body }) =>
      body["model"] === "house-up"
        ? json({ error: { message: "down", type: "server_error" } }, { status: 500 })
        : wholeAnswer("chat", { text: "Hello", usage: usageOf("chat", 0, 1) }),
    );
    const caller = await world().creditCaller(1_000);
    const cap = { limit: 1e9, period: "day", models: "big-*" } as const;
    await world().running.store.setCaps({ keyId: caller.key.id }, [cap], Date.now());
    await world().gateway.catchUp();
    const body = hello("chat", "house", { max_tokens: 100_000 });
    const responses = await Promise.all(
      Array.from({ length: freeRetries }, () => world().ask(caller, { path: paths.chat, body })),
    );
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
    for (const { headers } of responses) expect(headers.get("x-sluice-model")).toBe("small");
    const called = world().provider.requests.map(({ body: sent }) => sent["model"]);
    expect(called.filter((each) => each === "small-up")).toHaveLength(freeRetries);
    expect(called.some((each) => String(each).startsWith("big"))).toBe(false);
  });
});
