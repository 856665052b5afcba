import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { startProvider } from "../support/provider.ts";
import { Sluice } from "../support/sluice.ts";

/** Both vendors at once: their paths and credentials differ. */
const vendor = startProvider();
beforeEach(() => vendor.reset());
afterAll(() => vendor.stop());

const openAiKey = "sk-proj-0123456789abcdefghij";
const anthropicKey = "sk-ant-9876543210zyxwvutsrq";
const env = {
  OPENAI_API_KEY: openAiKey,
  OPENAI_BASE_URL: `${vendor.url}/v1`,
  ANTHROPIC_API_KEY: anthropicKey,
  ANTHROPIC_BASE_URL: vendor.url,
};

/** Every byte that the gateway wrote to its folder. */
function everything(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile())
    .map((file) => readFileSync(file, "latin1"))
    .join("\n");
}

describe("serve without a file, with keys in the environment", () => {
  test("serves these vendors besides the demo, and the first curl line reaches one of them with its own key", async () => {
    await using sluice = await Sluice.start({ env });
    await sluice.told("listening on");
    expect(sluice.output).toMatch(
      /openai +1\d\d models at \S+ \(OPENAI_API_KEY\), list prices checked from 2026-/,
    );
    expect(sluice.output).toMatch(
      /anthropic +\d\d models at \S+ \(ANTHROPIC_API_KEY\), list prices checked from 2026-/,
    );
    const [curl = ""] =
      /curl -N .+/.exec(readFileSync(join(sluice.folder, "data", "first-start.txt"), "utf8")) ?? [];
    const shell = Bun.spawn(["sh", "-c", curl], { stdout: "pipe", stderr: "ignore" });
    expect(await new Response(shell.stdout).text()).toContain("data: [DONE]");
    const key = /slu_\w{36}/.exec(curl)?.[0] ?? "";
    const claude = await fetch(`${sluice.url}/v1/messages`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: JSON.stringify({
        model: "anthropic/claude-haiku-5-5",
        max_tokens: 16,
        messages: [{ role: "user", content: "hello" }],
      }),
    });
    expect(claude.status, await claude.text()).toBe(200);
    expect(
      vendor.requests.map(({ path, headers, body }) => [
        path,
        headers["authorization"] ?? headers["x-api-key"],
        body["model"],
      ]),
    ).toEqual([
      ["/v1/chat/completions", `Bearer ${openAiKey}`, "gpt-6-luna"],
      ["/v1/messages", anthropicKey, "claude-haiku-5-5"],
    ]);
    expect(await sluice.stop()).toBe(0);
    for (const secret of [openAiKey, anthropicKey]) {
      expect(sluice.output).not.toContain(secret);
      expect(everything(sluice.folder)).not.toContain(secret);
    }
  });

  test("print a curl line with $SLUICE_KEY only where it is set", async () => {
    await using sluice = await Sluice.start({ env });
    await sluice.told("listening on");
    expect(sluice.output).not.toContain("$SLUICE_KEY");
    await sluice.stop();
    await sluice.restart({ env: { SLUICE_KEY: "slu_set" } });
    await sluice.told("listening on");
    expect(sluice.output).toContain('-H "Authorization: Bearer $SLUICE_KEY"');
    expect(sluice.output).toContain('"model":"gpt-6-luna"');
  });

  test("the first token-budget key is for the demo, because a vendor's tokens have no limit in money", async () => {
    await using sluice = await Sluice.start({ env });
    const keys = await sluice.cliJson<{ mode: string; models: string[] | null }[]>("keys", "list");
    expect(keys.find(({ mode }) => mode === "token_budget")?.models).toEqual([
      "demo-small",
      "demo-large",
      "demo-text",
    ]);
    expect(keys.find(({ mode }) => mode === "credit")?.models ?? null).toBeNull();
  });

  test("calls no vendor at the start, and names the keys that it does not use", async () => {
    const others = {
      ...env,
      MISTRAL_API_KEY: "",
      XAI_API_KEY: "slu_of-a-gateway",
      AZURE_OPENAI_API_KEY: "azure_secret",
    };
    await using sluice = await Sluice.start({ env: others });
    await sluice.told("listening on");
    for (const line of [
      "MISTRAL_API_KEY is not used: it is empty",
      "XAI_API_KEY is not used: it is a Sluice key, not the vendor's",
      "AZURE_OPENAI_API_KEY is not used: Azure OpenAI needs a configuration file; `sluice config init` writes one",
    ])
      expect(sluice.output).toContain(line);
    expect(sluice.output).not.toContain("azure_secret");
    expect(vendor.requests).toEqual([]);
  });

  test("--demo-only serves the demo alone", async () => {
    await using sluice = await Sluice.start({ env, args: ["--demo-only"] });
    const { data } = (await (await sluice.request("/v1/models")).json()) as { data: { provider: string }[] };
    expect(new Set(data.map(({ provider }) => provider))).toEqual(new Set(["demo"]));
    expect(sluice.output).not.toContain("OPENAI_API_KEY");
  });
});
