import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder } from "../support/new-folder.ts";
import { run } from "../support/process.ts";

const cwd = newFolder();
const where = { cwd, env: { PATH: process.env["PATH"] ?? "", HOME: cwd } };
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const prices = join(cwd, "prices.json");
writeFileSync(
  prices,
  JSON.stringify({
    "gpt-6.1-sol": {
      litellm_provider: "openai",
      mode: "chat",
      input_cost_per_token: 2e-6,
      output_cost_per_token: 1e-5,
    },
  }),
);

describe("models import", () => {
  test("prints models for the configuration, and tells beside them what they are from", async () => {
    const { code, stdout, stderr } = await run(["models", "import", "prices.json"], where);
    expect(code).toBe(0);
    expect(stdout).toStartWith('[[models]]\nid = "gpt-6.1-sol"\nprovider = "openai"\n');
    expect(stdout).toMatch(
      /price = \{ input = 2\.0, output = 10\.0, web_search = 10\.0 \} {2}# LiteLLM, \d{4}-\d\d-\d\d/,
    );
    expect(stderr).toContain("1 model from LiteLLM");
  });

  test("refuses what it does not understand, what is not there and what fits nothing", async () => {
    writeFileSync(join(cwd, "other.json"), '{"a":1}');
    const other = await run(["models", "import", "other.json"], where);
    expect([other.code, other.stderr]).toEqual([
      1,
      expect.stringContaining("neither LiteLLM's price file nor"),
    ]);
    expect((await run(["models", "import", "missing.json"], where)).code).toBe(1);
    const none = await run(["models", "import", "prices.json", "--provider", "nobody"], where);
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining("the file has openai")]);
  });
});

describe("config import litellm", () => {
  test("writes a new file, never over an old one, and says what is left", async () => {
    const yaml = "model_list:\n  - model_name: m\n    litellm_params: {model: openai/gpt-6.1-sol, rpm: 5}\n";
    writeFileSync(join(cwd, "config.yaml"), yaml);
    const args = ["config", "import", "litellm", "config.yaml", "--out", "sluice.toml"];
    const { code, stderr } = await run(args, where);
    expect(code).toBe(0);
    expect(stderr).toContain("m: rpm of its litellm_params");
    expect(existsSync(join(cwd, "sluice.toml"))).toBeTrue();
    expect(readFileSync(join(cwd, "sluice.toml"), "utf8")).toContain('upstream_model = "gpt-6.1-sol"');
    expect((await run(args, where)).code).toBe(1);
  });

  test("takes prices from a list, and refuses one that is none", async () => {
    const yaml =
      "model_list:\n  - model_name: m\n    litellm_params: {model: openai/gpt-6.1-sol, timeout: 600}\n";
    writeFileSync(join(cwd, "priced.yaml"), yaml);
    const args = (prices: string) => ["config", "import", "litellm", "priced.yaml", "--prices", prices];
    const { code, stdout, stderr } = await run(args("prices.json"), where);
    expect(code).toBe(0);
    expect(stdout).toStartWith("[server]\nrequest_timeout = 600\n");
    expect(stdout).toContain("timeouts = { total = 600 }");
    expect(stdout).toContain("price = { input = 2.0, output = 10.0, web_search = 10.0 }");
    expect(stderr).not.toContain("Not imported");
    const bad = await run(args("priced.yaml"), where);
    expect([bad.code, bad.stderr]).toEqual([1, expect.stringContaining("priced.yaml cannot be imported")]);
    expect((await run(args("missing.json"), where)).code).toBe(1);
  });
});
