import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import type { Sluice, TestKey } from "../support/sluice.ts";
import { type Browsing, browse, choosePayer, findBrowser } from "./browser.ts";
import { askAtLength, sampleConfig, startSample } from "./sample.ts";
import { rulesOfColor, violations } from "./violations.ts";

const token = "the-operators-token";
const browserPath = await findBrowser();

describe.if(browserPath !== null)("axe finds nothing to complain about", () => {
  let sluice: Sluice;
  let browsing: Browsing;
  let page: Page;
  let key: TestKey;

  beforeAll(async () => {
    sluice = await startSample(token);
    key = await sluice.createKey({ label: "Accessible" });
    const body = { model: "gpt-5.6", messages: [{ role: "user", content: "Hello" }] };
    await (await sluice.request("/v1/chat/completions", { key, body })).text();
    browsing = await browse(browserPath ?? "", { scheme: "light", width: 1360, height: 850 });
    page = await browsing.context.newPage();
    page.setDefaultTimeout(20_000);
  }, 300_000);

  afterAll(async () => {
    await browsing[Symbol.asyncDispose]();
    await sluice.dispose();
  });

  async function open(path: string): Promise<void> {
    await page.goto(`${sluice.url}/admin/${path}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.locator(".skeleton").first().waitFor({ state: "detached" });
    await page.locator("main:not(.settling)").waitFor();
  }

  test("in content, a changed configuration and an answer; pages and dialogs are in the looks", async () => {
    await page.goto(`${sluice.url}/admin`);
    await page.getByLabel("Admin token").fill(token);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await open(`requests/${await askAtLength(sluice, key.key)}`);
    await page.getByRole("button", { name: "Show content" }).click();
    await page.locator("ol.stack").waitFor();
    for (const view of ["Conversation", "Request", "Provider"]) {
      await page.getByRole("radio", { name: view, exact: true }).check();
      for (const folded of await page.locator(".folded summary").all()) await folded.click();
      expect(await violations(page), `content: ${view}`).toEqual([]);
      await page.emulateMedia({ colorScheme: "dark" });
      expect(await violations(page, rulesOfColor), `content: ${view}, dark`).toEqual([]);
      await page.emulateMedia({ colorScheme: "light" });
    }
    await Bun.write(join(sluice.folder, "sluice.toml"), `${sampleConfig}\n[server]\nnode = "fra-9"\n`);
    await open("system");
    await page.getByRole("button", { name: "Reload" }).click();
    await page.getByRole("dialog").getByText("It has 1 change.").waitFor();
    expect(await violations(page), "a reload").toEqual([]);
    await Bun.write(join(sluice.folder, "sluice.toml"), `${sampleConfig}\n[server]\nnode = 5\n`);
    await open("system");
    await page.getByRole("list", { name: "Problems in the file" }).waitFor();
    expect(await violations(page), "a configuration with a problem").toEqual([]);
    await open("playground");
    await choosePayer(page, "Accessible");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("done", { exact: true }).waitFor();
    expect(await violations(page), "an answer").toEqual([]);
  }, 120_000);
});
