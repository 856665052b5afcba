import { afterAll, beforeAll, expect, test } from "bun:test";
import { sse } from "../../support/answers.ts";
import { World } from "../world.ts";
import { streamedModels, streamedRoutes } from "./streamed-routes.ts";

let world: World;
beforeAll(async () => {
  world = await World.start({ tail: streamedModels });
});
afterAll(() => world[Symbol.asyncDispose]());

const untyped = (event: string) => event.replace(/"type":"[^"]*",/, "");

test.each(streamedRoutes.filter(([, use]) => use !== "completions"))(
  "a stream of %s whose events have no type is paid for as it is passed on, and fails",
  async (path, use, asked, events, cost) => {
    const caller = await world.creditCaller(1);
    const said = events.map(untyped).join("");
    world.provider.script(sse(said));
    const body = { model: `${use}-model`, stream: true, ...asked };
    const response = await world.ask(caller, { path, body });
    expect(await response.text()).toStartWith(said);
    const charges = await world.chargesOf(caller);
    expect(charges).toMatchObject([{ basis: "estimated", outcome: "failed" }]);
    expect(charges[0]?.amount).toBeLessThan(use === "images" ? 1 - cost : 0);
  },
);
