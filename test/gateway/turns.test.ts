import { expect, test } from "bun:test";
import { World } from "./world.ts";

/** Chunks that the client did not ask for, so that not even a full socket makes the pump wait. */
const hidden = Buffer.from(
  'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}\n\n'.repeat(700),
);

const mostReads = 200;

test("a stream that arrives faster than it is relayed leaves others their turn", async () => {
  await using world = await World.start();
  const caller = await world.creditCaller();
  const { upstream } = world.gateway.configured;
  const { open } = upstream;
  let reads = 0;
  upstream.open = async (plan) => {
    const opened = await open.call(upstream, plan);
    const { read } = opened;
    let isOthersTurn = false;
    const takeTurn = () => {
      isOthersTurn = true;
    };
    opened.read = () => {
      if (reads === 0) setTimeout(takeTurn, 0);
      reads += 1;
      return isOthersTurn || reads > mostReads ? read.call(opened) : hidden;
    };
    return opened;
  };
  const messages = [{ role: "user", content: "Hello" }];
  const body = { model: "gpt-test", stream: true, messages };
  const response = await world.ask(caller, { path: "/v1/chat/completions", body });
  expect(await response.text()).toContain("[DONE]");
  expect(reads).toBeLessThan(mostReads);
  expect(await world.chargesOf(caller)).toHaveLength(1);
});
