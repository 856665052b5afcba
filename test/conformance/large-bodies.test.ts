import { expect, test } from "bun:test";
import { json } from "../support/answers.ts";
import type { SeenRequest } from "../support/provider.ts";
import type { TestKey } from "../support/sluice.ts";
import { usageOf } from "./usage.ts";
import { newKey, useWorld } from "./world.ts";

/** Large enough for their memory to be given back as soon as the response has its copy. */
const question = `${"Why, and é? ".repeat(6_000)}?`;
const reply = "Because. ".repeat(8_000);

const world = useWorld();

function completion(content: string, usage: object | null) {
  return json({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "gpt-test",
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
    ...(usage === null ? {} : { usage: { ...usage } }),
  });
}

const usage = { prompt_tokens: 20_000, completion_tokens: 16_000, total_tokens: 36_000 };

const mostTokens = 4096;

async function ask(content: string, headers: Record<string, string> = {}, key?: TestKey): Promise<string> {
  const body = { model: "gpt-test", max_tokens: mostTokens, messages: [{ role: "user", content }] };
  const response = await world.sluice.request("/v1/chat/completions", {
    key: key ?? world.credit,
    headers,
    body,
  });
  expect(response.status).toBe(200);
  const answer = (await response.json()) as { choices: [{ message: { content: string } }] };
  return answer.choices[0].message.content;
}

/** What the provider was asked. */
function asked({ body }: SeenRequest): string {
  return (body as unknown as { messages: [{ content: string }] }).messages[0].content;
}

test("large requests and answers go through whole, many at once and one after the other", async () => {
  world.provider.script((request) => completion(reply + asked(request).slice(0, 8), usage));
  for (let round = 0; round < 3; round += 1) {
    const marks = Array.from({ length: 8 }, (_, index) => `mark ${round}.${index}`);
    const answers = await Promise.all(marks.map((mark) => ask(mark + question)));
    expect(answers).toEqual(marks.map((mark) => reply + mark));
  }
  for (const request of world.provider.requests) expect(asked(request).slice(8)).toBe(question);
});

test("a large answer is replayed as it was", async () => {
  world.provider.script(completion(reply, usage));
  const headers = { "idempotency-key": "large" };
  expect(await ask(question, headers)).toBe(reply);
  expect(await ask(question, headers)).toBe(reply);
  expect(world.provider.requests).toHaveLength(1);
});

test("large requests are counted here where the provider does not count, before their memory goes", async () => {
  world.provider.script(completion(reply, null));
  const counter = await newKey(world, { credit: 1000 });
  expect(await ask(question, {}, counter)).toBe(reply);
  const { tokens } = await usageOf(world, counter);
  expect(tokens.input).toBeGreaterThan(10_000);
  // There are more words than that, but what is counted here is never charged above what was asked for.
  expect(tokens.output).toBe(mostTokens);
});
