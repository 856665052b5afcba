import { expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import { onBothStores } from "../../gateway/on-both-stores.ts";
import { streamEvents, wholeAnswer } from "../../gateway/wire-answers.ts";
import type { Caller } from "../../gateway/world.ts";
import { json, sse } from "../../support/answers.ts";

const tail = `
[[models]]
id = "vectors"
provider = "openai"
serves = ["embeddings"]
price = { input = 1.0, output = 0.0 }
`;

onBothStores(tail, (world) => {
  const contents = [{ role: "user", parts: [{ text: "Hello" }] }];
  const said = { text: "Sluices.", usage: { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 } };
  const ask = (caller: Caller, method: string, body: JsonObject = { contents }, headers = {}) =>
    fetch(`${world().running.url}/v1beta/models/${method}`, {
      method: "POST",
      headers: { "x-goog-api-key": caller.secret, ...headers },
      body: JSON.stringify(body),
    });

  test("whole responses, streams and lists cost the same, and a retry nothing", async () => {
    const caller = await world().creditCaller();
    const { provider } = world();
    provider.script(wholeAnswer("chat", said));
    const once = { "idempotency-key": "once" };
    const whole = await (await ask(caller, "local-test:generateContent", { contents }, once)).text();
    const again = await ask(caller, "local-test:generateContent", { contents }, once);
    expect([again.headers.get("idempotent-replayed"), await again.text()]).toEqual(["true", whole]);
    provider.script(sse(streamEvents("chat", said).join("")));
    for (const form of ["?alt=sse", ""])
      expect(await (await ask(caller, `local-test:streamGenerateContent${form}`)).text()).toContain("STOP");
    const charges = await world().chargesOf(caller);
    expect(charges).toHaveLength(3);
    expect(new Set(charges.map(({ amount }) => amount)).size).toBe(1);
    expect(charges[0]).toMatchObject({ basis: "measured", outcome: "completed" });
  });

  test("texts become vectors and are charged, and tokens are counted for nothing", async () => {
    const caller = await world().creditCaller();
    const vector = { object: "embedding", index: 0, embedding: [0.5, 1] };
    const answer = {
      object: "list",
      model: "v",
      data: [vector],
      usage: { prompt_tokens: 3, total_tokens: 3 },
    };
    world().provider.script(json(answer));
    const embedded = await ask(caller, "vectors:embedContent", { content: { parts: [{ text: "Hello" }] } });
    expect(await embedded.json()).toMatchObject({ embedding: { values: [0.5, 1] } });
    expect((await ask(caller, "local-test:countTokens")).status).toBe(200);
    expect(await world().chargesOf(caller)).toMatchObject([{ amount: -3000 }]);
  });

  test("an empty account is an error of Google's form, and costs nothing", async () => {
    const poor = await world().creditCaller(0);
    expect(await (await ask(poor, "gpt-test:generateContent")).json()).toMatchObject({
      error: { code: 402, status: "FAILED_PRECONDITION", details: [{ reason: "INSUFFICIENT_CREDIT" }] },
    });
    expect(await world().chargesOf(poor)).toEqual([]);
  });
});
