import { expect, test } from "bun:test";
import { hello, paths } from "./wire-answers.ts";
import { World } from "./world.ts";

const tail = `
[[models]]
id = "cloud/gpt-test"
provider = "openai"
upstream_model = "gpt-upstream"
price = { input = 1.0, output = 2.0 }
max_output_tokens = 4096
`;

test("a limit of tokens per minute covers a model under the name that leads to one provider", async () => {
  await using world = await World.start({ tail });
  const caller = await world.creditCaller(10, { tpmLimits: [{ limit: 1000, models: "gpt-*" }] });
  for (const model of ["gpt-test", "cloud/gpt-test"]) {
    const body = hello("chat", model, { max_tokens: 2000 });
    const response = await world.ask(caller, { path: paths.chat, body });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("limit is 1000 tokens per minute");
  }
  expect(world.provider.requests).toHaveLength(0);
});
