import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { loadSettings } from "../../src/config/load.ts";
import { json, silence } from "../support/answers.ts";
import { startProvider } from "../support/provider.ts";
import { newPlace, type Place, sluice, sluiceJson } from "./fixtures.ts";

/** Of vendors that are asked for their models. Groq's tells no prices. */
const vendor = startProvider();
beforeEach(() => {
  vendor.reset();
  vendor.script(json({ data: [{ id: "llama-9", context_window: 8192 }] }));
});
afterAll(() => vendor.stop());

const env = {
  OPENAI_API_KEY: "sk-a-secret-of-openai",
  ANTHROPIC_API_KEY: "sk-ant-a-secret",
  GROQ_API_KEY: "gsk-secret",
  GROQ_BASE_URL: `${vendor.url}/groq/v1`,
};
const secrets = [env.OPENAI_API_KEY, env.ANTHROPIC_API_KEY, env.GROQ_API_KEY];
const fileIn = ({ folder }: Place) => join(folder, "sluice.toml");
const textIn = (place: Place) => readFileSync(fileIn(place), "utf8");

/** Replies by the first words of a question; to all others with Enter, and yes at the end. */
const replies = (by: Record<string, string>) => (question: string) =>
  Object.entries(by).find(([start]) => question.includes(start))?.[1] ?? "";

describe("config init --yes", () => {
  test("writes what is found, with references and never a secret, and the file serves it", async () => {
    const place = newPlace({ env: { ...env, OPENAI_BASE_URL: "https://proxy.example.com/v1" } });
    const done = await sluiceJson<{ file: string; providers: string[] }>(place, "config", "init", "--yes");
    expect(done).toEqual({ file: fileIn(place), providers: ["openai", "anthropic", "groq"] });
    const text = textIn(place);
    for (const secret of secrets) expect(text).not.toContain(secret);
    expect(text).toContain(
      'base_url = "https://proxy.example.com/v1"\napi_key = "env:OPENAI_API_KEY"\nmodels = "catalog"',
    );
    const { settings } = loadSettings({ file: fileIn(place), env });
    expect([...settings.providers.keys()]).toEqual(["demo", "openai", "anthropic", "groq"]);
    expect(settings.models.some(({ id }) => id === "claude-haiku-5-5")).toBe(true);
  });
});

describe("config init asks a vendor without built-in prices for its models", () => {
  const pricing = { prompt: "0.0000004", completion: "0.0000016" };
  const routed = {
    OPENROUTER_API_KEY: "sk-or-secret-of-openrouter",
    OPENROUTER_BASE_URL: `${vendor.url}/api/v1`,
  };
  const list = json({
    data: [
      { id: "maker/large", context_length: 100_000, pricing },
      { id: "maker/small", pricing },
      { id: "other/x", pricing },
    ],
  });

  test("--yes takes all that have a price, of today, and the file serves them", async () => {
    vendor.script(list);
    const place = newPlace({ env: routed });
    const { code, stdout } = await sluice(place, "config", "init", "--yes");
    expect(code).toBe(0);
    expect(stdout).not.toContain("models discover");
    expect(vendor.requests.map(({ path, headers }) => [path, headers["authorization"]])).toEqual([
      ["/api/v1/models", `Bearer ${routed.OPENROUTER_API_KEY}`],
    ]);
    const { settings } = loadSettings({ file: fileIn(place), env: routed });
    const model = settings.models.find(({ id }) => id === "maker/large");
    expect(model).toMatchObject({ contextWindow: 100_000, priceChecked: expect.stringMatching(/^\d{4}-/) });
    expect(settings.models.filter(({ id }) => id.includes("/"))).toHaveLength(3);
    expect(textIn(place)).not.toContain(routed.OPENROUTER_API_KEY);
  });

  test("on a terminal one chooses among them, and a vendor that is not wanted is not asked", async () => {
    vendor.script(list);
    const answer = replies({ "openrouter (": "", "with prices": "maker/*", "groq (": "none" });
    const place = newPlace({
      env: { ...routed, GROQ_API_KEY: "gsk-secret", GROQ_BASE_URL: `${vendor.url}/groq` },
      answer,
    });
    expect((await sluice(place, "config", "init")).code).toBe(0);
    const ids = loadSettings({ file: fileIn(place), env: routed }).settings.models.map(({ id }) => id);
    expect(ids.filter((id) => id.includes("/"))).toEqual(["maker/large", "maker/small"]);
    expect(vendor.requests).toHaveLength(1);
  });

  test.each([
    ["rejects the key", json({ error: { message: "no" } }, { status: 401 }), "it rejects the key"],
    ["does not answer", silence(), "no response within 3 s"],
    [
      "tells no prices",
      json({ data: [{ id: "maker/large" }] }),
      "1 model of openrouter without a known price",
    ],
  ])(
    "writes the rest, and what to do next, if it %s",
    async (_, script, said) => {
      vendor.script(script);
      const place = newPlace({ env: routed });
      const { code, stdout, stderr } = await sluice(place, "config", "init", "--yes");
      expect([code, stderr]).toEqual([0, expect.stringContaining(said)]);
      expect(stdout).toContain("Next: `sluice models discover openrouter --write` for its models");
      expect(loadSettings({ file: fileIn(place), env: routed }).settings.providers.has("openrouter")).toBe(
        true,
      );
    },
    30_000,
  );
});

describe("config init on a terminal", () => {
  test("asks, and writes what was chosen", async () => {
    const answer = replies({
      "openai (": "gpt-6-luna, whisper-1",
      "anthropic (": "none",
      "groq (": "none",
      "Data folder": "/var/lib/sluice",
      PostgreSQL: "y",
      "other machines": "y",
      "Public address": "https://gateway.example.com",
      "OpenID Connect issuer": "https://id.example.com",
      "client id": "gateway",
      "e-mail address": "me@example.com",
      "cap of each": "3/day",
    });
    const place = newPlace({ env, answer });
    const { code, stdout, stderr } = await sluice(place, "config", "init");
    expect([code, stderr]).toEqual([0, expect.stringContaining("Keep the demo models?")]);
    expect(stdout).toContain("Set SLUICE_DATABASE_URL");
    expect(stdout).toContain("sluice accounts create --mode credit --label team");
    expect(textIn(place)).toContain('member_keys = { account = "team", cap = "3/day" }');
    const later = { SLUICE_DATABASE_URL: "postgres://sluice@db/sluice", OIDC_CLIENT_SECRET: "s" };
    const { settings } = loadSettings({ file: fileIn(place), env: { ...env, ...later } });
    expect([...settings.providers.keys()]).toEqual(["openai"]);
    expect(settings.models.map(({ id }) => id)).toEqual(["gpt-6-luna", "whisper-1"]);
    expect(settings).toMatchObject({
      server: { host: "0.0.0.0", data: "/var/lib/sluice" },
      store: { url: "postgres://sluice@db/sluice" },
      admin: {
        publicUrl: "https://gateway.example.com",
        admins: ["me@example.com"],
        members: "everyone",
        oidc: { clientId: "gateway" },
      },
    });
    expect(textIn(place)).not.toContain('demo-small"\ndisplay_name');
    expect(textIn(place)).toContain("# ── Models: ");
  });

  test("Enter takes what was found and writes it; no at the end writes nothing", async () => {
    const taken = newPlace({ env, answer: replies({}) });
    expect((await sluice(taken, "config", "init")).code).toBe(0);
    expect(loadSettings({ file: fileIn(taken), env }).settings.providers.has("anthropic")).toBe(true);
    const left = newPlace({ env, answer: replies({ "Write ": "n" }) });
    const { code, stderr } = await sluice(left, "config", "init");
    expect([code, stderr]).toEqual([1, expect.stringContaining("nothing was written")]);
    expect(readdirSync(left.folder)).toEqual([]);
  });

  test("an invalid reply is answered by what is valid, and only that question is asked again", async () => {
    const valid: Record<string, string> = {
      "other machines": "y",
      "Public address": "https://gateway.example.com",
      "OpenID Connect issuer": "https://id.example.com",
      "e-mail address": "me@example.com",
      "cap of each": "3/day",
    };
    const asked: string[] = [];
    const answer = (question: string) => {
      const name = Object.keys(valid).find((start) => question.includes(start));
      asked.push(question);
      const isFirst = asked.filter((each) => each === question).length < 5;
      return name === undefined ? "" : isFirst ? "what is meant" : (valid[name] ?? "");
    };
    const place = newPlace({ env, answer });
    const { code, stderr } = await sluice(place, "config", "init");
    expect(code).toBe(0);
    for (const form of [
      "enter y or n",
      "enter an address, such as https://gateway.example.com, or none",
      "enter an e-mail address, such as me@example.com",
      "enter an amount and a period, such as 5/day",
    ])
      expect(stderr).toContain(`"what is meant" is not valid: ${form}`);
    expect(asked.filter((question) => question.includes("Data folder"))).toHaveLength(1);
    expect(asked.filter((question) => question.includes("e-mail address"))).toHaveLength(5);
    expect(textIn(place)).toContain('admins = ["me@example.com"]');
  });
});

test("without a terminal and without --yes it refuses at once", async () => {
  const place = newPlace({ env });
  const { code, stderr } = await sluice(place, "config", "init");
  expect([code, stderr]).toEqual([1, expect.stringContaining("pass --yes")]);
  expect(readdirSync(place.folder)).toEqual([]);
});
