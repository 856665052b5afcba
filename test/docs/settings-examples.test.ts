import { expect, test } from "bun:test";
import { examineSettings } from "../../src/config/load.ts";
import { settingsBlocks } from "./shell-lines.ts";

/** What a secret of an example can be: 32 bytes in base64, which is long enough for every token. */
const secret = Buffer.alloc(32, 7).toString("base64");
const database = "postgres://sluice@localhost:5432/sluice";
const address = "https://hooks.example.com/sluice";

/** A vendor that a contributor adds on that page, which has a test of its own. */
const addedOnPage = "docs/adding-a-vendor.md";

/** An example is often one section. The rest of a file that loads comes before or after it. */
function completed(example: string): string {
  const text = example.replaceAll(/"file:[^"]*"/g, '"env:SECRET"');
  const model =
    /^\[models[.\]]/m.test(text) && !text.includes("[[models]]")
      ? '[[models]]\nid = "example"\nprovider = "openai"\n'
      : "";
  const whole = model + text;
  const named = [...whole.matchAll(/^provider = "([^"]+)"/gm)].map(([, name = ""]) => name);
  const missing = new Set(["openai", ...named].filter((name) => !whole.includes(`[providers.${name}]`)));
  const providers = [...missing].map((name) => `[providers.${name}]\n${providerNamed(name)}`);
  const anyModel = whole.includes("[[models]]")
    ? []
    : ['[[models]]\nid = "any"\nprovider = "openai"\nfree = true'];
  return [whole, ...providers, ...anyModel].join("\n");
}

function providerNamed(name: string): string {
  const kind = ["openai", "anthropic", "gemini"].includes(name) ? name : "openai-compatible";
  const address = kind === "openai-compatible" ? 'base_url = "http://127.0.0.1:9/v1"\n' : "";
  return `kind = "${kind}"\n${address}api_key = "env:SECRET"\n`;
}

test("every example of settings in the documentation loads", () => {
  const examples = settingsBlocks().filter(({ page }) => page !== addedOnPage);
  expect(examples.length).toBeGreaterThan(50);
  const failed = examples.flatMap(({ page, text }) => {
    const names = [...text.matchAll(/"env:(\w+)"/g)].map(([, name = ""]) => name);
    const env = Object.fromEntries(
      [...names, "SECRET"].map((name) => [
        name,
        /DATABASE/.test(name) ? database : name.endsWith("_URL") ? address : secret,
      ]),
    );
    try {
      const { problems } = examineSettings({ text: completed(text), env });
      return problems.map(({ path, message }) => `${page}: ${path}: ${message}\n${text}`);
    } catch (error) {
      return [`${page}: ${String(error)}\n${text}`];
    }
  });
  expect(failed).toEqual([]);
});
