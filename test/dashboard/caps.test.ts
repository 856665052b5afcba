import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import type { CapDetailView } from "../../src/admin/caps/schema.ts";
import { Sluice, type TestKey } from "../support/sluice.ts";
import { type Browsing, browse, findBrowser } from "./browser.ts";
import { violations } from "./violations.ts";

const token = "the-operators-token";
const browserPath = await findBrowser();

describe.if(browserPath !== null)("caps by owner, end user and tag in the dashboard", () => {
  let sluice: Sluice;
  let key: TestKey;
  let browsing: Browsing;
  let page: Page;

  beforeAll(async () => {
    sluice = await Sluice.start({ env: { SLUICE_ADMIN_TOKEN: token } });
    const options = "keys create --mode credit --credit 5 --label Ours --owner ada@example.com";
    key = await sluice.cliJson(...options.split(" "));
    const body = { model: "demo-small", messages: [{ role: "user", content: "Hello" }], user: "u1" };
    await (await sluice.request("/v1/chat/completions", { key, body })).text();
    browsing = await browse(browserPath ?? "", { scheme: "light", width: 1360, height: 850 });
    page = await browsing.context.newPage();
    page.setDefaultTimeout(20_000);
    await page.goto(`${sluice.url}/admin/accounts`);
    await page.getByLabel("Admin token").fill(token);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Caps by owner, end user and tag" }).waitFor();
  }, 120_000);

  afterAll(async () => {
    await browsing[Symbol.asyncDispose]();
    await sluice.dispose();
  });

  const dialog = () => page.getByRole("dialog");

  async function fill(fields: Readonly<Record<string, string>>): Promise<void> {
    for (const [label, text] of Object.entries(fields)) await dialog().getByLabel(label).fill(text);
  }

  async function choose(fields: Readonly<Record<string, string>>): Promise<void> {
    for (const [label, option] of Object.entries(fields))
      await dialog().getByLabel(label, { exact: true }).selectOption(option);
  }

  async function done(verb: string): Promise<void> {
    await dialog().getByRole("button", { name: verb, exact: true }).click();
    await dialog().waitFor({ state: "detached" });
  }

  async function openAction(row: string, action: string): Promise<void> {
    await page.getByRole("row", { name: row }).locator("summary").click();
    await page.getByRole("menuitem", { name: action }).click();
    await dialog().waitFor();
  }

  const caps = () => sluice.cliJson<CapDetailView[]>("caps", "list");

  test("one is added for each owner, raised, changed and removed, and a mistake is explained", async () => {
    await page.getByText("No caps yet").waitFor();
    await page.getByRole("button", { name: "New cap" }).click();
    await fill({ "Limit in credits": "20", "Model to run instead": "demo-small" });
    await dialog().getByRole("button", { name: "Add cap" }).click();
    await dialog()
      .getByText(/limit a pattern such as claude-opus-\*/)
      .waitFor();
    await fill({ "Model to run instead": "" });
    await done("Add cap");
    await page.getByRole("row", { name: "Each owner" }).waitFor();
    expect(await caps()).toMatchObject([{ limit: 20, period: "day", each: "owner", mode: "credit" }]);

    await openAction("Each owner", "Raise");
    await fill({
      "By how many credits": "5",
      "Only for this owner": "ben@example.com",
      Reason: "release week",
    });
    await done("Raise");
    await openAction("Each owner", "Edit");
    await choose({ Period: "week" });
    await fill({ "Limit in credits": "30", "Values to count": "50" });
    await done("Save");
    expect(await caps()).toMatchObject([{ limit: 30, period: "week", values: 50, models: null, then: null }]);
    await openAction("Each owner", "Remove");
    await done("Remove");
    await page.getByText("No caps yet").waitFor();
    expect(await caps()).toEqual([]);
  }, 120_000);

  test("within a key or an account, of each end user or one tag, with a model to run instead", async () => {
    await page.getByRole("button", { name: "New cap" }).click();
    await choose({ Limits: "Each end user", Within: "One key" });
    await fill({ Key: key.prefix, "Limit in credits": "0.5", "Values to count": "100" });
    await choose({ "Requests without it": "Count together" });
    await done("Add cap");
    await page.getByRole("button", { name: "New cap" }).click();
    await choose({ Limits: "One value of a tag", Period: "monthly" });
    await fill({ Tag: "project=atlas", "Limit in credits": "500", Models: "claude-*" });
    await fill({ "Model to run instead": "demo-small" });
    await choose({ "Requests with state": "Run these on that model, too" });
    await done("Add cap");
    const whom = { each: null, owner: null, user: null, tag: null };
    expect(await caps()).toMatchObject([
      { ...whom, each: "user", limit: 0.5, key: key.id, optional: true, values: 100 },
      { ...whom, tag: "project=atlas", models: "claude-*", then: "demo-small", then_always: true },
    ]);
    await page.getByRole("row", { name: "Each end user" }).getByRole("button", { name: "1 value" }).click();
    await dialog().getByRole("row", { name: "u1" }).waitFor();
    await page.keyboard.press("Escape");
    expect(await violations(page)).toEqual([]);
  }, 120_000);

  test("what is near its limit is listed, the caps of keys too", async () => {
    await sluice.cliJson("keys", "update", key.prefix, "--cap", "0.000000001/month");
    await page.getByLabel("Near a limit").selectOption("80% used");
    await page.getByRole("row", { name: /^Everything / }).waitFor();
    await page.reload();
    await page.getByRole("row", { name: /^Everything / }).waitFor();
    expect(await page.getByLabel("Near a limit").inputValue()).toBe("0.8");
    expect(await violations(page)).toEqual([]);
  }, 120_000);

  test("a key's page and its owner's own page have all that bind it, with what its own value has used", async () => {
    await sluice.cliJson("caps", "add", "20/day", "--each", "owner");
    await sluice.cliJson("caps", "add", "7/day", "--owner", "ben@example.com");
    const expectCaps = async () => {
      const section = page.locator("section", {
        has: page.getByRole("heading", { name: "Caps", exact: true }),
      });
      await section.getByText(/ used of 20\.00 credits per day, owner ada@example\.com/).waitFor();
      await section.getByText("0.50 credits per day, each end user").waitFor();
      expect(await section.getByText("ben@example.com").count()).toBe(0);
      expect(await violations(page)).toEqual([]);
    };
    await page.goto(`${sluice.url}/admin/keys/${key.id}`);
    await expectCaps();
    await browsing.context.clearCookies();
    await page.goto(`${sluice.url}/usage`);
    await page.getByLabel("API key").fill(key.key);
    await page.keyboard.press("Enter");
    await expectCaps();
  }, 120_000);
});
