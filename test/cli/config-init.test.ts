import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { loadSettings } from "../../src/config/load.ts";
import { newPlace, type Place, sluice, sluiceJson } from "./fixtures.ts";

const env = {
  OPENAI_API_KEY: "sk-a-secret-of-openai",
  ANTHROPIC_API_KEY: "sk-ant-a-secret",
  GROQ_API_KEY: "gsk-secret",
};
const fileIn = ({ folder }: Place) => join(folder, "sluice.toml");
const textIn = (place: Place) => readFileSync(fileIn(place), "utf8");

/** Replies by the first words of a question; to all others with Enter, and yes at the end. */
const replies = (by: Record<string, string>) => (question: string) =>
  Object.entries(by).find(([start]) => question.includes(start))?.[1] ??
  (question.includes("Write ") ? "y" : "");

describe("config init --yes", () => {
  test("writes what is found, with references and never a secret, and the file serves it", async () => {
    const place = newPlace({ env: { ...env, OPENAI_BASE_URL: "https://proxy.example.com/v1" } });
    const done = await sluiceJson<{ file: string; providers: string[] }>(place, "config", "init", "--yes");
    expect(done).toEqual({ file: fileIn(place), providers: ["openai", "anthropic", "groq"] });
    const text = textIn(place);
    for (const secret of Object.values(env)) expect(text).not.toContain(secret);
    expect(text).toContain(
      'base_url = "https://proxy.example.com/v1"\napi_key = "env:OPENAI_API_KEY"\nmodels = "catalog"',
    );
    const { settings } = loadSettings({ file: fileIn(place), env });
    expect([...settings.providers.keys()]).toEqual(["demo", "openai", "anthropic", "groq"]);
    expect(settings.models.some(({ id }) => id === "claude-haiku-5-5")).toBe(true);
  });
});

describe("config init on a terminal", () => {
  test("asks, and writes what was chosen", async () => {
    const answer = replies({
      "openai (": "gpt-6*, whisper-1",
      "anthropic (": "none",
      "groq (": "n",
      "Data folder": "/var/lib/sluice",
      PostgreSQL: "y",
      "other machines": "y",
      "Public address": "https://gateway.example.com",
      "OpenID Connect issuer": "https://id.example.com",
      "client id": "gateway",
      "your address": "me@example.com",
    });
    const place = newPlace({ env, answer });
    const { code, stdout, stderr } = await sluice(place, "config", "init");
    expect([code, stderr]).toEqual([0, expect.stringContaining("Keep the demo models?")]);
    expect(stdout).toContain("Set SLUICE_DATABASE_URL");
    const later = { SLUICE_DATABASE_URL: "postgres://sluice@db/sluice", OIDC_CLIENT_SECRET: "s" };
    const { settings } = loadSettings({ file: fileIn(place), env: { ...env, ...later } });
    expect([...settings.providers.keys()]).toEqual(["openai"]);
    expect(settings.models.map(({ id }) => id)).toEqual([
      "gpt-6-astra",
      "gpt-6.1-sol",
      "gpt-6-luna",
      "whisper-1",
    ]);
    expect(settings).toMatchObject({
      server: { host: "0.0.0.0", data: "/var/lib/sluice" },
      store: { url: "postgres://sluice@db/sluice" },
      admin: {
        publicUrl: "https://gateway.example.com",
        admins: ["me@example.com"],
        oidc: { clientId: "gateway" },
      },
    });
    expect(textIn(place)).not.toContain('demo-small"\ndisplay_name');
    expect(textIn(place)).toContain("# ── Models: ");
  });

  test("Enter takes what was found; anything but yes at the end writes nothing", async () => {
    const taken = newPlace({ env, answer: replies({}) });
    expect((await sluice(taken, "config", "init")).code).toBe(0);
    expect(loadSettings({ file: fileIn(taken), env }).settings.providers.has("anthropic")).toBe(true);
    const left = newPlace({ env, answer: "" });
    const { code, stderr } = await sluice(left, "config", "init");
    expect([code, stderr]).toEqual([1, expect.stringContaining("nothing was changed")]);
    expect(readdirSync(left.folder)).toEqual([]);
  });

  test("a reply that makes no sense is asked for three times, and nothing is written", async () => {
    const place = newPlace({ env, answer: replies({ "OpenID Connect issuer": "not an address" }) });
    const { code, stderr } = await sluice(place, "config", "init");
    expect(code).toBe(1);
    expect(stderr.match(/OpenID Connect issuer/g)).toHaveLength(3);
    expect(existsSync(fileIn(place))).toBe(false);
  });
});

test("without a terminal and without --yes it refuses at once", async () => {
  const place = newPlace({ env });
  const { code, stderr } = await sluice(place, "config", "init");
  expect([code, stderr]).toEqual([1, expect.stringContaining("pass --yes")]);
  expect(readdirSync(place.folder)).toEqual([]);
});
