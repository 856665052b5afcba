import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { ClientDialectName } from "../../src/dialects/registry.ts";
import { talker, translatedPairs } from "./pairs.ts";
import { hello, paths, streamAnswer, usageOf, wholeAnswer } from "./wire-answers.ts";
import { World } from "./world.ts";

let world: World;
beforeAll(async () => {
  world = await World.start({ tail: talker });
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

/** The last figures in an answer, whatever the dialect calls them. */
function shownIn(text: string): { input: number; output: number } {
  const last = (name: RegExp) => Number([...text.matchAll(name)].at(-1)?.[1]);
  return {
    input: last(/"(?:prompt|input)_tokens":(\d+)/g),
    output: last(/"(?:completion|output)_tokens":(\d+)/g),
  };
}

/** Without figures, and with some that nobody believes: more than the model can read or write. */
const unreported = { text: "Sluices keep the canal navigable." };
const absurd = (provider: ClientDialectName) => ({ ...unreported, usage: usageOf(provider, 9e9, 9e9) });
const long = { text: "canal ".repeat(300_000) };

describe("a client is shown what it is charged, also where that is counted here:", () => {
  for (const { client, model, provider } of translatedPairs) {
    for (const [name, said] of [
      ["nothing reported", unreported],
      ["absurd figures", absurd(provider)],
      ["a large answer", long],
    ] as const) {
      for (const stream of ["streamed", "whole", "streamed at once"] as const) {
        if (name === "a large answer" && stream === "streamed") continue;
        test(`${client} from ${provider}, ${stream}, ${name}`, async () => {
          const caller = await world.creditCaller();
          const answer = stream === "streamed" ? streamAnswer(provider, said) : wholeAnswer(provider, said);
          world.provider.script(answer);
          const more = { stream: stream !== "whole", stream_options: { include_usage: true } };
          const body = hello(client, model, {
            max_tokens: 50,
            ...(client === "chat" ? more : { stream: more.stream }),
          });
          const response = await world.ask(caller, { path: paths[client], body });
          const { input, output } = shownIn(await response.text());
          expect(input).toBeGreaterThan(0);
          expect(output).toBeGreaterThan(0);
          const amount = -(input * 1_000 + output * 2_000);
          expect(await world.chargesOf(caller)).toEqual([
            { amount, basis: "estimated", outcome: "completed" },
          ]);
        });
      }
    }
  }
});
