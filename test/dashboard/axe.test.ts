import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import type { Sluice, TestKey } from "../support/sluice.ts";
import { type Browsing, browse, choosePayer, findBrowser, follow } from "./browser.ts";
import { askAtLength, sampleConfig, startSample } from "./sample.ts";
import { violations } from "./violations.ts";

const token = "the-operators-token";
const browserPath = await findBrowser();
const pages = [
  "",
  "keys",
  "accounts",
  "models",
  "reports?by=key,model&since=30d",
  "requests",
  "reconcile",
  "playground",
  "tail",
  "system",
  "no-such-page",
  // Lists in which nothing fits.
  "keys?search=nobody",
  "accounts?search=nobody",
  "requests?search=nobody",
  "reports?since=2020-01&until=2020-02",
] as const;
const sizes = { desk: { width: 1360, height: 850 }, phone: { width: 390, height: 844 } } as const;

/** All that the color scheme makes a difference to. */
const rulesOfColor = ["color-contrast", "link-in-text-block"];

describe.if(browserPath !== null)("axe finds nothing to complain about", () => {
  let sluice: Sluice;
  let browsing: Browsing;
  let page: Page;
  let key: TestKey;
  let account: { readonly id: string };

  beforeAll(async () => {
    sluice = await startSample(token);
    key = await sluice.createKey({ label: "Accessible" });
    account = await sluice.cliJson<{ readonly id: string }>("accounts", "show", "Product teams");
    const body = { model: "gpt-5.6", messages: [{ role: "user", content: "Hello" }] };
    await (await sluice.request("/v1/chat/completions", { key, body })).text();
    browsing = await browse(browserPath ?? "", { scheme: "light", ...sizes.desk });
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

  /** On a desk and on a phone, light and dark. */
  async function expectNothing(what: string): Promise<void> {
    for (const [size, viewport] of Object.entries(sizes)) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme: "light" });
      expect(await violations(page), `${what}, on a ${size}`).toEqual([]);
      await page.emulateMedia({ colorScheme: "dark" });
      expect(await violations(page, rulesOfColor), `${what}, on a ${size}, dark`).toEqual([]);
    }
  }

  test("where one signs in, and on any page, light and dark, on a desk and on a phone", async () => {
    await page.goto(`${sluice.url}/admin`);
    await page.getByLabel("Admin token").waitFor();
    await expectNothing("sign-in");
    await page.getByLabel("Admin token").fill(token);
    await page.keyboard.press("Enter");
    await page.locator(".charts canvas").first().waitFor();
    for (const path of [...pages, `keys/${key.id}`, `accounts/${account.id}`]) {
      await follow(page, `/admin/${path}`);
      await expectNothing(path);
    }
  }, 120_000);

  test("in dialogs, menus and answers", async () => {
    await page.setViewportSize(sizes.desk);
    await page.emulateMedia({ colorScheme: "light" });
    await open("keys");
    await page.getByRole("button", { name: "New key" }).click();
    await page.getByRole("dialog").waitFor();
    expect(await violations(page), "a new key").toEqual([]);
    await open(`accounts/${account.id}`);
    await page.locator("summary").click();
    await page.getByRole("menuitem", { name: "Edit…", exact: true }).click();
    await page.getByRole("dialog").getByText("Default caps for new keys").waitFor();
    expect(await violations(page), "an account's form").toEqual([]);
    await open("requests?outcome=failed");
    await page.locator("tbody a").first().click();
    await page.getByRole("heading", { name: "Ledger" }).waitFor();
    expect(await violations(page), "an exchange").toEqual([]);
    await open(`requests/${await askAtLength(sluice, key.key)}`);
    await page.getByRole("button", { name: "Show content" }).click();
    await page.locator(".conversation").waitFor();
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
