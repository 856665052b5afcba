import { afterAll, afterEach, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { LargeBodies } from "../../src/gateway/body-worker/body-worker.ts";
import { type Answer, bytesOf, text as textAnswer } from "../support/answers.ts";
import { type Pair, pairs, talker } from "./pairs.ts";
import { hello, paths, usageOf, wholeAnswer } from "./wire-answers.ts";
import { World } from "./world.ts";

const running = spyOn(LargeBodies.prototype, "runResponse");

let world: World;
beforeAll(async () => {
  world = await World.start({ tail: talker });
});
afterEach(() => {
  world.provider.reset();
  running.mockClear();
});
afterAll(() => {
  running.mockRestore();
  return world[Symbol.asyncDispose]();
});

/** So many values in so few bytes that parsing and checking them would take half a second. */
const manyValues = `[${"[],".repeat(300_000)}0]`;

/** The same response with an unknown field that takes long to parse. */
function made(large: boolean, answer: Answer): Answer {
  const body = Buffer.from(bytesOf(answer)).toString();
  return textAnswer(large ? `{"x":${manyValues},${body.slice(1)}` : body, "application/json");
}

const jobs = () => running.mock.calls.map(([job]) => job.name);

/** Without what differs from answer to answer. */
const comparable = (body: string) =>
  body
    .replace(`"x":${manyValues},`, "")
    .replace(/"(id|item_id)":"[^"]+"/g, '"$1":"x"')
    .replace(/"(created|created_at|completed_at)":\d+/g, '"$1":1');

async function answered(pair: Pair, answer: Answer, stream: boolean) {
  const caller = await world.creditCaller();
  world.provider.script(answer);
  // What is kept of a response is read once more.
  const body = hello(pair.client, pair.model, {
    stream,
    ...(pair.client === "responses" ? { store: false } : {}),
  });
  const response = await world.ask(caller, { path: paths[pair.client], body });
  return { status: response.status, body: await response.text(), charges: await world.chargesOf(caller) };
}

describe("an answer of very many values is read on another thread, and is what it would be otherwise", () => {
  for (const pair of pairs) {
    for (const stream of [false, true]) {
      test(`${pair.client} from ${pair.provider}${stream ? ", asked for as a stream" : ""}`, async () => {
        const said = { text: "Sluices keep the canal navigable.", usage: usageOf(pair.provider, 100, 20) };
        const answer = wholeAnswer(pair.provider, said);
        const small = await answered(pair, made(false, answer), stream);
        expect(jobs()).toEqual([]);
        const large = await answered(pair, made(true, answer), stream);
        expect(jobs()).toEqual(["answer"]);
        expect(small).toMatchObject({ status: 200, charges: [{ basis: "measured" }] });
        expect({ ...large, body: comparable(large.body) }).toEqual({
          ...small,
          body: comparable(small.body),
        });
      });
    }
  }
});

test("an answer of over a megabyte without usage is counted from its text, and keeps its bytes", async () => {
  const answer = wholeAnswer("chat", { text: "canal ".repeat(200_000) });
  const [pair] = pairs;
  const large = await answered(pair, answer, false);
  expect(jobs()).toEqual(["answer"]);
  expect(large.body).toBe(Buffer.from(bytesOf(answer)).toString());
  expect(large.charges).toMatchObject([{ basis: "estimated", outcome: "completed" }]);
});

describe("on that thread too", () => {
  const [, , , , pair] = pairs;

  test("an answer that the provider ends as failed is charged by its figures", async () => {
    const choice = { index: 0, message: { role: "assistant", content: "Slu" }, finish_reason: "error" };
    const failed = { id: "c", choices: [choice], usage: usageOf("chat", 100, 20) };
    const { status, charges } = await answered(pair, made(true, textAnswer(JSON.stringify(failed))), false);
    expect(jobs()).toEqual(["answer"]);
    expect(status).toBe(502);
    expect(charges).toMatchObject([{ basis: "measured", outcome: "failed" }]);
  });

  describe("a Responses answer that names its error and reports usage is charged by it, whoever asks:", () => {
    const error = { code: "server_error", message: "It broke." };
    const head = { id: "resp_up", object: "response", created_at: 1, model: "up", status: "failed" };
    const failed = { ...head, output: [], error, usage: usageOf("responses", 100, 20) };
    for (const asker of pairs.filter(({ provider }) => provider === "responses")) {
      for (const stream of [false, true]) {
        test(`${asker.client}${stream ? ", asked for as a stream" : ""}`, async () => {
          const answer = textAnswer(JSON.stringify(failed));
          const { status, body, charges } = await answered(asker, made(true, answer), stream);
          expect(jobs()).toEqual(["answer"]);
          expect(status).toBe(502);
          expect(body).toContain("It broke.");
          const amount = -(100 * 1_000 + 20 * 2_000);
          expect(charges).toEqual([{ amount, basis: "measured", outcome: "failed" }]);
        });
      }
    }
  });

  test.each([
    ["broken JSON", pairs[0], `{"x":${manyValues},}`],
    ["without content", pairs[2], `{"x":${manyValues}}`],
    ["an error", pairs[6], `{"x":${manyValues},"error":{"message":"It broke."},"output":[]}`],
  ] as const)("what is no answer is the provider's fault, and costs nothing: %s", async (_, asker, body) => {
    const { status, charges } = await answered(asker, textAnswer(body, "application/json"), false);
    expect(jobs()).toEqual(["answer"]);
    expect(status).toBe(502);
    expect(charges).toEqual([]);
  });
});
