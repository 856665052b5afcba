import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { Sluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { type Browsing, browse, choosePayer, findBrowser } from "./browser.ts";
import { askAtLength, sampleConfig } from "./sample.ts";

const token = "the-operators-token";
const browserPath = await findBrowser();
const signIn = `
[server]
trusted_proxies = ["127.0.0.1"]
[admin]
user_header = "x-user"
admins = ["root@example.com"]
viewers = ["vera@example.com"]
members = ["ada@example.com"]
`;

describe.if(browserPath !== null)("what a request said, on its page", () => {
  let sluice: Sluice;
  let key: TestKey;
  let id: string;
  const open: Browsing[] = [];

  beforeAll(async () => {
    const config = signIn + sampleConfig.replace("[content]", "[content]\nmembers_see_own = true");
    sluice = await Sluice.start({ config, env: { SLUICE_ADMIN_TOKEN: token } });
    key = await sluice.cliJson<TestKey>(
      ..."keys create --mode credit --credit 5 --label Ours --owner ada@example.com".split(" "),
    );
    id = await askAtLength(sluice, key.key);
  }, 120_000);

  afterAll(async () => {
    for (const browsing of open) await browsing[Symbol.asyncDispose]();
    await sluice.dispose();
  });

  /** The page of a user whom a proxy has signed in. */
  async function pageOf(user: string, path: string): Promise<Page> {
    const browsing = await browse(browserPath ?? "", { scheme: "light", width: 1360, height: 850 });
    open.push(browsing);
    await browsing.context.setExtraHTTPHeaders({ "x-user": user, "x-forwarded-for": "10.1.2.3" });
    const page = await browsing.context.newPage();
    page.setDefaultTimeout(20_000);
    await page.goto(`${sluice.url}${path}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.getByRole("heading", { name: "Ledger" }).waitFor();
    return page;
  }

  async function readings(): Promise<number> {
    const response = await sluice.request("/admin/api/v1/audit?limit=200", {
      headers: { authorization: `Bearer ${token}` },
    });
    const { data } = (await response.json()) as { data: readonly { action: string; target: string }[] };
    return data.filter(({ action, target }) => action === "content.read" && target === id).length;
  }

  test("an admin reads the conversation, which is loaded and audited only when asked for", async () => {
    const before = await readings();
    const page = await pageOf("root@example.com", `/admin/requests/${id}`);
    expect(await readings()).toBe(before);
    await page.getByRole("button", { name: "Show content" }).click();
    const said = page.locator("ol.stack");
    await said.waitFor();
    expect(await readings()).toBe(before + 1);
    const roles = await said.locator("> li > p strong").allInnerTexts();
    expect(roles).toEqual(["system", "tools", "user", "assistant", "user", "user", "assistant"]);
    const text = (await said.textContent()) ?? "";
    expect(text).toContain("Where was this taken");
    expect(text).toContain("image/png, 4,000 bytes");
    expect(await said.locator("details[open]").count()).toBe(0);
    await said.getByText("Tool call").first().click();
    expect(await said.locator("details[open] pre").textContent()).toContain('"city": "Delft"');
    expect(await page.locator("[data-test=not-sent]").allInnerTexts()).toEqual([
      expect.stringContaining("top_k"),
    ]);
  }, 60_000);

  test("raw JSON marks what was dropped, and shows what the provider was sent and returned", async () => {
    const page = await pageOf("root@example.com", `/admin/requests/${id}`);
    await page.getByRole("button", { name: "Show content" }).click();
    await page.getByRole("radio", { name: "Request", exact: true }).check();
    const dropped = await page.locator(".json del").allTextContents();
    expect(dropped.map((line) => line.trim())).toEqual(['"top_k": 40,']);
    await page.getByRole("radio", { name: "Provider", exact: true }).check();
    const [sent, returned] = await page.locator(".json").allTextContents();
    expect(sent).not.toContain("top_k");
    expect(returned).toContain('"finish_reason"');
  }, 60_000);

  test("it is copied as a command without the key, and opens in the playground as it was", async () => {
    const page = await pageOf("root@example.com", `/admin/requests/${id}`);
    await page.getByRole("button", { name: "Show content" }).click();
    await page.getByRole("button", { name: "Copy as curl" }).click();
    const copied = String(await page.evaluate("navigator.clipboard.readText()"));
    expect(copied).not.toContain(key.key);
    const process = Bun.spawn(["bash", "-c", copied], {
      env: { PATH: Bun.env["PATH"] ?? "", SLUICE_KEY: key.key },
      stderr: "ignore",
    });
    // A digest is no image, so the gateway says so, which shows that the body arrived whole.
    expect(await new Response(process.stdout).text()).toContain("source");
    await page.getByRole("button", { name: "Open in playground" }).click();
    const body = page.getByLabel("Request body");
    expect(await body.inputValue()).toContain("Where was this taken");
    const model = page.getByLabel("Model", { exact: true });
    await waitFor(async () => (await model.inputValue()) === "claude-opus-5", "the recorded model");
    await body.fill('{"max_tokens":99,"messages":[{"role":"user","content":"Hello again"}]}');
    await choosePayer(page, "Ours");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("done", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Use the form" }).click();
    await page.getByLabel("Message").waitFor();
  }, 60_000);

  test("a member reads their own requests on the self-service page, and a viewer is not offered it", async () => {
    const own = await pageOf("ada@example.com", `/usage?open=${id}`);
    await own.getByRole("button", { name: "Show content" }).click();
    await own.locator("ol.stack").getByText("And tomorrow?").waitFor();
    expect(await own.getByRole("button", { name: "Open in playground" }).count()).toBe(0);
    const theirs = await pageOf("vera@example.com", `/admin/requests/${id}`);
    expect(await theirs.getByRole("button", { name: "Show content" }).count()).toBe(0);
  }, 60_000);
});
