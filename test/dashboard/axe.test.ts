import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { Sluice, type TestKey } from "../support/sluice.ts";
import { type Browsing, browse, findBrowser } from "./browser.ts";
import { fillSample, sampleConfig } from "./sample.ts";
import { violations } from "./violations.ts";

const token = "the-operators-token";
const browserPath = await findBrowser();
const pages = [
  "",
  "keys",
  "accounts",
  "models",
  "reports?by=key,model&since=30d",
  "exchanges",
  "bill",
  "playground",
  "tail",
  "system",
  "no-such-page",
  // Lists in which nothing fits.
  "keys?search=nobody",
  "accounts?search=nobody",
  "exchanges?search=nobody",
  "reports?since=2020-01&until=2020-02",
] as const;
const sizes = { desk: { width: 1360, height: 850 }, phone: { width: 390, height: 844 } } as const;

/** All that the color scheme makes a difference to. */
const rulesOfColor = ["color-contrast", "link-in-text-block"];

describe.if(browserPath !== null)("axe finds nothing to complain about", () => {
  let sluice: Sluice;
  let key: TestKey;
  let account: { readonly id: string };

  beforeAll(async () => {
    sluice = await Sluice.start({ config: sampleConfig, env: { SLUICE_ADMIN_TOKEN: token } });
    await sluice.stop();
    await fillSample(join(sluice.folder, "data"));
    await sluice.restart();
    key = await sluice.createKey({ label: "Accessible" });
    account = await sluice.cliJson<{ readonly id: string }>("accounts", "show", "Product teams");
    const body = { model: "gpt-5.6", messages: [{ role: "user", content: "Hello" }] };
    await (await sluice.request("/v1/chat/completions", { key, body })).text();
  }, 300_000);

  afterAll(() => sluice.dispose());

  async function signedIn(browsing: Browsing): Promise<Page> {
    const page = await browsing.context.newPage();
    page.setDefaultTimeout(20_000);
    await page.goto(`${sluice.url}/admin`);
    await page.getByLabel("Admin token").waitFor();
    expect(await violations(page), "sign-in").toEqual([]);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await violations(page, rulesOfColor), "sign-in, dark").toEqual([]);
    await page.getByLabel("Admin token").fill(token);
    await page.keyboard.press("Enter");
    await page.locator(".charts canvas").first().waitFor();
    return page;
  }

  async function open(page: Page, path: string): Promise<void> {
    await page.goto(`${sluice.url}/admin/${path}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.locator(".skeleton").first().waitFor({ state: "detached" });
  }

  for (const size of ["desk", "phone"] as const) {
    test(`on any page, light and dark, on a ${size}`, async () => {
      await using browsing = await browse(browserPath ?? "", { scheme: "light", ...sizes[size] });
      const page = await signedIn(browsing);
      for (const path of [...pages, `keys/${key.id}`, `accounts/${account.id}`]) {
        await page.emulateMedia({ colorScheme: "light" });
        await open(page, path);
        expect(await violations(page), path).toEqual([]);
        await page.emulateMedia({ colorScheme: "dark" });
        expect(await violations(page, rulesOfColor), `${path}, dark`).toEqual([]);
      }
    }, 120_000);
  }

  test("in dialogs, menus and answers", async () => {
    await using browsing = await browse(browserPath ?? "", { scheme: "light", ...sizes.desk });
    const page = await signedIn(browsing);
    await open(page, "keys");
    await page.getByRole("button", { name: "New key" }).click();
    await page.getByRole("dialog").waitFor();
    expect(await violations(page), "a new key").toEqual([]);
    await open(page, `accounts/${account.id}`);
    await page.locator("summary").click();
    await page.getByRole("menuitem", { name: "Edit…", exact: true }).click();
    await page.getByRole("dialog").getByText("Caps of each new key").waitFor();
    expect(await violations(page), "an account's form").toEqual([]);
    await open(page, "exchanges?outcome=failed");
    await page.locator("tbody a").first().click();
    await page.getByRole("dialog").getByText("Ledger").waitFor();
    expect(await violations(page), "an exchange").toEqual([]);
    await Bun.write(join(sluice.folder, "sluice.toml"), `${sampleConfig}\n[server]\nnode = "fra-9"\n`);
    await open(page, "system");
    await page.getByRole("button", { name: "Reload" }).click();
    await page.getByRole("dialog").getByText("It brings 1 change.").waitFor();
    expect(await violations(page), "a reload").toEqual([]);
    await Bun.write(join(sluice.folder, "sluice.toml"), `${sampleConfig}\n[server]\nnode = 5\n`);
    await open(page, "system");
    await page.getByRole("list", { name: "Problems of the file" }).waitFor();
    expect(await violations(page), "a configuration with a problem").toEqual([]);
    await open(page, "playground");
    await page.getByLabel("Key", { exact: true }).fill(key.key);
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("done", { exact: true }).waitFor();
    expect(await violations(page), "an answer").toEqual([]);
  }, 120_000);
});
